package progression_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/stores"
)

var now = time.Date(2020, 1, 1, 12, 0, 0, 500_000_999, time.UTC)

const nowText = "2020-01-01T12:00:00.500000+00:00"

var (
	storage   = stores.NewAnnotationsProgress(stores.AnnotationsProgressOptions{})
	verbosely = stores.NewAnnotationsProgress(stores.AnnotationsProgressOptions{Verbose: true})
)

// stored returns an object with these records in its annotations.
func stored(records map[string]string) stores.Object {
	annotations := stores.Object{}
	for id, record := range records {
		annotations["kopf.zalando.org/"+id] = record
	}
	return stores.Object{"metadata": stores.Object{"annotations": annotations}}
}

func restore(t *testing.T, records map[string]string, ids ...string) progression.State {
	t.Helper()
	state, err := progression.FromStorage(stored(records), storage, ids, now)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// patchOf returns what Store writes, by handler id.
func patchOf(t *testing.T, state progression.State, body stores.Object, storage stores.ProgressStorage) map[string]any {
	t.Helper()
	patch := &stores.Patch{}
	if err := state.Store(body, patch, storage); err != nil {
		t.Fatal(err)
	}
	return byID(patch.Object())
}

func byID(patch stores.Object) map[string]any {
	written := map[string]any{}
	for key, value := range dicts.LookupObject(patch, "metadata", "annotations") {
		written[strings.TrimPrefix(key, "kopf.zalando.org/")] = value
	}
	return written
}

func outcome(final bool, message string, delay time.Duration) progression.Outcome {
	o := progression.Outcome{Final: final}
	if message != "" {
		o.Error = &message
	}
	if delay >= 0 {
		o.Delay = &delay
	}
	return o
}

func TestLifeOfHandlers(t *testing.T) {
	ids := []string{"one", "two", "three"}
	state := restore(t, nil, ids...).WithPurpose("create").WithHandlers(ids, now)
	if state.Done() || len(state.Awakened(ids, now)) != 3 || *state.Delay(now) != 0 {
		t.Fatalf("new handlers: done %v, awakened %v, delay %v", state.Done(), state.Awakened(ids, now), state.Delay(now))
	}

	state, err := state.WithOutcomes(map[string]progression.Outcome{
		"one": outcome(true, "", -1),
		"two": outcome(false, "later", 10*time.Second),
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"one":   `{"started":"` + nowText + `","stopped":"` + nowText + `","purpose":"create","retries":1,"success":true,"failure":false}`,
		"two":   `{"started":"` + nowText + `","delayed":"2020-01-01T12:00:10.500000+00:00","purpose":"create","retries":1,"success":false,"failure":false,"message":"later"}`,
		"three": `{"started":"` + nowText + `","purpose":"create","retries":0,"success":false,"failure":false}`,
	}
	if diff := cmp.Diff(want, patchOf(t, state, stored(nil), storage)); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"three"}, state.Awakened(ids, now)); diff != "" {
		t.Errorf("awakened (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]time.Duration{10 * time.Second, 0}, state.Delays(now)); diff != "" {
		t.Errorf("delays (-want +got):\n%s", diff)
	}
	if got, want := state.Counts(), (progression.Counts{Success: 1, Running: 2}); got != want {
		t.Errorf("counts: got %+v, want %+v", got, want)
	}

	later := now.Add(10 * time.Second)
	if diff := cmp.Diff([]string{"two", "three"}, state.Awakened(ids, later)); diff != "" {
		t.Errorf("awakened later (-want +got):\n%s", diff)
	}
	state, err = state.WithOutcomes(map[string]progression.Outcome{
		"two":   outcome(true, "never", -1),
		"three": outcome(true, "", -1),
	}, later)
	if err != nil {
		t.Fatal(err)
	}
	if !state.Done() || state.Delay(later) != nil || state.Handler("two").Retries != 2 || !state.Handler("two").Failure {
		t.Errorf("in the end: done %v, delay %v, two is %+v", state.Done(), state.Delay(later), state.Handler("two"))
	}
	if diff := cmp.Diff([]string{"two"}, state.WithoutSuccesses().IDs()); diff != "" {
		t.Errorf("without successes (-want +got):\n%s", diff)
	}
}

func TestStatesAreImmutable(t *testing.T) {
	before := restore(t, nil).WithPurpose("create").WithHandlers([]string{"fn"}, now)
	_ = before.WithPurpose("update", "fn")
	_ = before.WithHandlers([]string{"other"}, now)
	if _, err := before.WithOutcomes(map[string]progression.Outcome{"fn": outcome(true, "", -1)}, now); err != nil {
		t.Fatal(err)
	}
	if handler := before.Handler("fn"); handler.Success || handler.Purpose != "create" || len(before.IDs()) != 1 {
		t.Errorf("the state has changed: %v, %+v", before.IDs(), handler)
	}
}

func TestNothingIsStoredTwice(t *testing.T) {
	canonical := `{"started":"` + nowText + `","retries":1,"success":false,"failure":false,"subrefs":["fn/a"]}`
	tests := []struct {
		name, record string
		storage      stores.ProgressStorage
		stored       bool
	}{
		{"as we would store it", canonical, storage, false},
		{"with nulls", strings.Replace(canonical, "{", `{"stopped":null,"delayed":null,`, 1), verbosely, false},
		{"with fields of newer versions", strings.Replace(canonical, "{", `{"other":1,`, 1), storage, false},
		{"another form of the time", strings.Replace(canonical, "+00:00", "Z", 1), storage, true},
		{"incomplete", `{"retries":1}`, storage, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			state := restore(t, map[string]string{"fn": test.record}, "fn")
			if written := patchOf(t, state, nil, test.storage); (len(written) > 0) != test.stored {
				t.Errorf("got %v", written)
			}
		})
	}
}

func TestTimesWithoutZonesAreUTC(t *testing.T) {
	state := restore(t, map[string]string{"fn": `{"started":"2020-01-01T11:00:00","delayed":"2020-01-01T12:00:01"}`}, "fn")
	handler := state.Handler("fn")
	if !handler.Sleeping(now) || handler.Awakened(now) || handler.Runtime(now.Truncate(time.Second)) != time.Hour {
		t.Errorf("sleeping %v, runtime %v", handler.Sleeping(now), handler.Runtime(now))
	}
}

func TestPassiveHandlersAreNotWaitedFor(t *testing.T) {
	state := restore(t, map[string]string{"fn": `{"retries":1}`, "old": `{"retries":2}`}, "fn", "absent", "old")
	if !state.Done() || state.Delay(now) != nil {
		t.Error("handlers of the storage are waited for")
	}
	if diff := cmp.Diff([]string{"fn", "old"}, state.IDs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	state = state.WithHandlers([]string{"fn"}, now)
	if state.Done() || state.Handler("fn").Retries != 1 || len(state.Delays(now)) != 1 {
		t.Errorf("active: done %v, %+v", state.Done(), state.Handler("fn"))
	}
}

func TestPurposes(t *testing.T) {
	records := map[string]string{
		"a": `{"purpose":"create","success":true}`,
		"b": `{"purpose":"create","failure":true}`,
		"c": `{"purpose":"create"}`,
		"d": `{"purpose":"update"}`,
		"e": `{}`,
		"f": `{"purpose":"resume"}`,
	}
	state := restore(t, records, "f", "a", "b", "c", "d", "e").WithPurpose("update")
	want := []progression.Extra{
		{Purpose: "resume", Counts: progression.Counts{Running: 1}},
		{Purpose: "create", Counts: progression.Counts{Success: 1, Failure: 1, Running: 1}},
	}
	if diff := cmp.Diff(want, state.Extras()); diff != "" {
		t.Errorf("extras (-want +got):\n%s", diff)
	}
	if got, want := state.Counts(), (progression.Counts{Running: 2}); got != want {
		t.Errorf("counts: got %+v, want %+v", got, want)
	}
	state = state.WithPurpose("update", "f", "a", "b", "c", "unknown")
	if extras := state.Extras(); len(extras) > 0 {
		t.Errorf("there are extras after all are re-purposed: %v", extras)
	}
	if got, want := state.Counts(), (progression.Counts{Success: 1, Failure: 1, Running: 4}); got != want {
		t.Errorf("counts after: got %+v, want %+v", got, want)
	}
}

func TestPurge(t *testing.T) {
	records := map[string]string{
		"fn":            `{"subrefs":["fn/sub","fn/sub/sub"]}`,
		"fn.sub":        `{}`,
		"owned":         `{}`,
		"of-others":     `{}`,
		"never-fetched": `{}`,
	}
	state := restore(t, records, "fn").WithHandlers([]string{"new"}, now)
	patch := &stores.Patch{}
	if err := state.Store(stored(records), patch, storage); err != nil {
		t.Fatal(err)
	}
	if err := state.Purge(stored(records), patch, storage, []string{"fn", "owned"}); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"fn": nil, "fn.sub": nil, "owned": nil}
	if diff := cmp.Diff(want, byID(patch.Object())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSubrefsAreCollected(t *testing.T) {
	state := restore(t, map[string]string{"fn": `{"subrefs":["fn/z"]}`}, "fn")
	o := outcome(false, "None", 0)
	o.Subrefs = []string{"fn/b", "fn/a", "fn/z"}
	state, err := state.WithOutcomes(map[string]progression.Outcome{"fn": o}, now)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"fn/a", "fn/b", "fn/z"}, state.Handler("fn").Subrefs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnknownOutcomes(t *testing.T) {
	state := progression.State{}.WithHandlers([]string{"fn"}, now)
	if _, err := state.WithOutcomes(map[string]progression.Outcome{"fn": {}, "other": {}}, now); err == nil {
		t.Error("an outcome of an unknown handler is accepted")
	}
}

func TestCorruptedRecordsAreNamed(t *testing.T) {
	_, err := progression.FromStorage(stored(map[string]string{"a.b": "garbage"}), storage, []string{"a/b"}, now)
	var corrupted *stores.CorruptedError
	if !errors.As(err, &corrupted) || !strings.Contains(err.Error(), `"a/b"`) {
		t.Errorf("got the error %v", err)
	}
	bad := "soon"
	for _, record := range []stores.Record{{Started: &bad}, {Stopped: &bad}, {Delayed: &bad}} {
		_, err = progression.FromStorage(nil, fixed{record: record}, []string{"fn"}, now)
		if err == nil || !strings.Contains(err.Error(), `"soon" is not a timestamp`) {
			t.Errorf("of a storage that does not care: got the error %v", err)
		}
	}
}

// fixed is a storage that always returns one record and fails otherwise.
type fixed struct {
	stores.ProgressStorage
	record stores.Record
}

var errFixed = errors.New("fixed")

func (f fixed) Fetch(stores.Object, string) (*stores.Record, error)             { return &f.record, nil }
func (f fixed) Store(string, stores.Record, stores.Object, *stores.Patch) error { return errFixed }
func (f fixed) Purge(string, stores.Object, *stores.Patch) error                { return errFixed }
func (f fixed) Flush() error                                                    { return nil }

func TestErrorsOfStorages(t *testing.T) {
	state, err := progression.FromStorage(nil, fixed{}, []string{"fn"}, now)
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"store": state.Store(nil, &stores.Patch{}, fixed{}),
		"purge": state.Purge(nil, &stores.Patch{}, fixed{}, nil),
	} {
		if !errors.Is(err, errFixed) || !strings.Contains(err.Error(), `"fn"`) {
			t.Errorf("%s: got the error %v", what, err)
		}
	}
}
