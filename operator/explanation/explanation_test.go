package explanation_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator/explanation"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/memos"
	"github.com/kopf-wasm/kopf/reactor/processing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// declared is a guest with handlers. Its functions hold for handlers with an even position.
type declared struct {
	reactortest.Scripted
	handlers []abi.Handler
	fails    bool
}

func (g *declared) Registration() *abi.Registration { return &abi.Registration{Handlers: g.handlers} }

func (g *declared) Ask(_ context.Context, q *abi.Questions, _ []byte, _ guests.Env) (*abi.Answers, error) {
	if g.fails {
		return nil, errors.New("it hangs")
	}
	answers := &abi.Answers{}
	for _, one := range q.Questions {
		answers.Answers = append(answers.Answers, abi.Verdict{Value: abi.Raw(fmt.Sprint(one.Handler%2 == 0))})
	}
	return answers, nil
}

var widgets = selectors.Resource{Group: "kopf.dev", Version: "v1", Plural: "widgets", Kind: "Widget", Singular: "widget", Namespaced: true, Preferred: true}

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func raw(text string) abi.Raw { return abi.Raw(text) }

func handler(kind abi.Kind, id string, change ...func(h *abi.Handler)) abi.Handler {
	h := abi.Handler{Kind: kind, ID: id, Fn: id, Resource: &abi.Selector{Plural: "widgets"}}
	for _, c := range change {
		c(&h)
	}
	return h
}

func labelled(key, want string) func(h *abi.Handler) {
	return func(h *abi.Handler) { h.Labels = map[string]abi.Raw{key: raw(want)} }
}

// explain explains an object: the metadata in addition to its name, and the spec.
func explain(t *testing.T, g *declared, metadata, spec string) *explanation.Explanation {
	t.Helper()
	registry, err := registries.New(g)
	if err != nil {
		t.Fatal(err)
	}
	object := fmt.Sprintf(`{"apiVersion":"kopf.dev/v1","kind":"Widget","metadata":{"name":"w","namespace":"ns"%s},"spec":%s}`, metadata, spec)
	result, err := explanation.Explain(t.Context(), explanation.Question{Registry: registry, Settings: settings.Default(), Resource: widgets, Raw: []byte(object), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// verdicts are the verdicts and reasons of handlers, one a line.
func verdicts(e *explanation.Explanation) []string {
	var lines []string
	for _, h := range e.Handlers {
		lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%s %s: %s", h.ID, h.Verdict, strings.Join(h.Why, "; ")), ": "))
	}
	return lines
}

const handled = `"kopf.zalando.org/last-handled-configuration":"{\"spec\":{\"x\":\"a\"}}\n"`

func TestEachHandlerHasAVerdictAndAReason(t *testing.T) {
	when := func(h *abi.Handler) { h.When = raw(`{"$":"FUNCTION"}`) }
	all := []abi.Handler{
		handler(abi.KindCreate, "created"), handler(abi.KindUpdate, "updated"), handler(abi.KindDelete, "deleted"), handler(abi.KindResume, "resumed"),
		handler(abi.KindField, "changed", func(h *abi.Handler) { h.Field = []string{"spec", "x"} }),
		handler(abi.KindField, "stayed", func(h *abi.Handler) { h.Field = []string{"spec", "y"} }),
		handler(abi.KindEvent, "even", when), handler(abi.KindEvent, "odd", when),
		handler(abi.KindDaemon, "daemon", labelled("tier", `"web"`)), handler(abi.KindTimer, "timer"),
		handler(abi.KindIndex, "index"), handler(abi.KindValidate, "review"), handler(abi.KindConvert, "conversion"),
		handler(abi.KindEvent, "pods", func(h *abi.Handler) { h.Resource = &abi.Selector{Plural: "pods"} }),
	}
	e := explain(t, &declared{handlers: all}, `,"annotations":{`+handled+`}`, `{"x":"b","y":1}`)
	want := []string{
		"index spies", "even spies: the function of the filter when includes it", "odd no: the function of the filter when excludes it",
		"pods no: its resource is Selector(plural='pods'), not widgets.v1.kopf.dev",
		"created no: it is for creation, and the cause is updating", "updated due", "deleted no: it is for deletion, and the cause is updating", "resumed at start",
		"changed/spec.x due", "stayed/spec.y due",
		`daemon no: the label tier must be "web", and is absent`, "timer runs", "review reviews", "conversion reviews",
	}
	if diff := cmp.Diff(want, verdicts(e)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if e.Cause.Reason != causes.Update || !e.Cause.Handled || !e.Cause.Resuming {
		t.Errorf("the cause is %+v", e.Cause)
	}
	if diff := cmp.Diff([]explanation.Change{{Op: "change", Field: "spec.x", Old: "a", New: "b"}, {Op: "add", Field: "spec.y", New: e.Cause.Diff[1].New}}, e.Cause.Diff); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"timer", "deleted"}, e.Finalizers.RequiredBy); diff != "" {
		t.Errorf("the finalizer is needed by (-want +got):\n%s", diff)
	}
}

func TestObjectsAreLeftAloneWithoutInterest(t *testing.T) {
	g := &declared{handlers: []abi.Handler{handler(abi.KindCreate, "created", labelled("a", `"b"`))}}
	e := explain(t, g, "", "{}")
	if !strings.Contains(e.Cause.Why, "stores nothing") || e.Handlers[0].Why[0] != `the label a must be "b", and is absent` {
		t.Errorf("got %+v, %+v", e.Cause, e.Handlers)
	}
	e = explain(t, g, `,"labels":{"a":"b"},"annotations":{"kopf.zalando.org/last-handled-configuration":"{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{}}\n"}`, "{}")
	if e.Cause.Reason != causes.Noop || !strings.Contains(e.Handlers[0].Why[0], "nothing to handle") {
		t.Errorf("got %+v, %+v", e.Cause, e.Handlers)
	}
}

func record(id, text string) string {
	return fmt.Sprintf(`"kopf.zalando.org/%s":%q`, id, text)
}

func TestProgressIsThatOnTheObject(t *testing.T) {
	g := &declared{handlers: []abi.Handler{
		handler(abi.KindCreate, "delayed"), handler(abi.KindCreate, "done"), handler(abi.KindCreate, "failed"), handler(abi.KindCreate, "due"), handler(abi.KindCreate, "broken"),
	}}
	e := explain(t, g, `,"annotations":{`+strings.Join([]string{
		record("delayed", `{"started":"2026-01-01T11:59:00.000000+00:00","delayed":"2026-01-01T12:01:00.000000+00:00","purpose":"create","retries":3,"message":"no","subrefs":["delayed/sub"]}`),
		record("delayed.sub", `{"started":"2026-01-01T11:59:00.000000+00:00","success":true,"retries":1}`),
		record("done", `{"started":"2026-01-01T11:59:00.000000+00:00","success":true}`),
		record("failed", `{"started":"2026-01-01T11:59:00.000000+00:00","failure":true,"message":"for good"}`),
		record("due", `{"started":"2026-01-01T11:59:00.000000+00:00","delayed":"2026-01-01T11:59:30.000000+00:00","retries":1}`),
		record("broken", `{`),
	}, ",")+`}`, "{}")
	if diff := cmp.Diff([]string{"delayed delayed", "done succeeded", "failed failed", "due due", "broken due"}, verdicts(e)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p := e.Handlers[0].Progress
	if p.Attempts != 3 || p.Error != "no" || p.Purpose != "create" || p.Next == nil || !p.Next.Equal(now.Add(time.Minute)) {
		t.Errorf("progress: %+v", p)
	}
	if due := e.Handlers[3].Progress.Due; !p.Due.IsZero() || !due.Equal(now.Add(-30*time.Second)) { // not since its start
		t.Errorf("due: %v, %v", p.Due, due)
	}
	if len(p.Subhandlers) != 1 || p.Subhandlers[0].ID != "delayed/sub" || !p.Subhandlers[0].Success {
		t.Errorf("sub-handlers: %+v", p.Subhandlers)
	}
	if len(e.Notes) != 1 || !strings.Contains(e.Notes[0], "is corrupted") {
		t.Errorf("notes: %q", e.Notes)
	}
}

// TestRecordsThatNameEachOther: everybody who may annotate the object can write such records.
func TestRecordsThatNameEachOther(t *testing.T) {
	g := &declared{handlers: []abi.Handler{handler(abi.KindCreate, "a")}}
	e := explain(t, g, `,"annotations":{`+record("a", `{"subrefs":["a","b","b"]}`)+","+record("b", `{"subrefs":["b","a"]}`)+`}`, "{}")
	var ids []string
	for _, p := range e.Handlers[0].Progress.Subhandlers {
		ids = append(ids, p.ID)
	}
	if diff := cmp.Diff([]string{"a", "b"}, ids); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDeletionNamesWhatItWaitsFor(t *testing.T) {
	deleting := func(finalizers, annotations string) string {
		return `,"deletionTimestamp":"2026-01-01T11:00:00Z","finalizers":[` + finalizers + `],"annotations":{` + annotations + `}`
	}
	const ours = `"kopf.zalando.org/KopfFinalizerMarker"`
	first, last, daemon := handler(abi.KindDelete, "first"), handler(abi.KindDelete, "last"), handler(abi.KindDaemon, "daemon")
	for _, tt := range []struct {
		name     string
		handlers []abi.Handler
		metadata string
		reason   causes.Reason
		want     []string
	}{
		{
			"handlers and others",
			[]abi.Handler{first, last, daemon},
			deleting(ours+`,"foregroundDeletion","a/b"`, record("last", `{"started":"2026-01-01T11:59:00.000000+00:00","delayed":"2026-01-01T12:01:00.000000+00:00","retries":3}`)), causes.Delete,
			[]string{
				`delete "first": it was not called yet`, `delete "last": its next attempt is at 2026-01-01T12:01:00Z`,
				`daemon "daemon": it must have ended, which only the operator that runs it knows`,
				"the finalizer foregroundDeletion: the garbage collector removes it after the objects that the object owns", "the finalizer a/b: another controller removes it",
			},
		},
		{
			"nothing of ours", []abi.Handler{first}, deleting(`"a/b"`, ""), causes.Free, []string{"the finalizer a/b: another controller removes it"},
		},
		{
			"an operator that does not run",
			[]abi.Handler{handler(abi.KindCreate, "created")},
			deleting(ours, ""), causes.Delete,
			[]string{"the finalizer kopf.zalando.org/KopfFinalizerMarker: no handler needs it any more, so the operator removes it as soon as it runs and sees the object"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := explain(t, &declared{handlers: tt.handlers}, tt.metadata, "{}")
			if e.Cause.Reason != tt.reason || e.Deletion == nil {
				t.Fatalf("got %+v", e)
			}
			if diff := cmp.Diff(tt.want, e.Deletion.BlockedBy); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFunctionsThatFailLeaveTheVerdictUnknown(t *testing.T) {
	g := &declared{fails: true, handlers: []abi.Handler{handler(abi.KindEvent, "seen", func(h *abi.Handler) { h.When = raw(`{"$":"FUNCTION"}`) })}}
	e := explain(t, g, "", "{}")
	if diff := cmp.Diff([]string{"seen unknown: asking for filters: it hangs"}, verdicts(e)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestObjectsThatCannotBeExplained(t *testing.T) {
	registry, err := registries.New(&declared{})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"[]": "", `{"metadata":{}}`: "no metadata.name", `{"metadata":{"name":"a","annotations":{"kopf.zalando.org/last-handled-configuration":"{"}}}`: "the last handled state: annotation",
	} {
		_, err := explanation.Explain(t.Context(), explanation.Question{Registry: registry, Settings: settings.Default(), Resource: widgets, Raw: []byte(text), Now: now})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// The explanation of any operator and any object names the handlers that the reactor selects.
func TestExplanationsAgreeWithTheReactor(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 2))
		g := &declared{handlers: randomHandlers(random)}
		annotations, spec := "", []string{"{}", `{"x":"a"}`, `{"x":"b"}`}[random.IntN(3)]
		if random.IntN(2) == 0 {
			annotations = handled
		}
		metadata := fmt.Sprintf(`,"labels":{%q:%q},"annotations":{%s}`, string(rune('a'+random.IntN(2))), string(rune('p'+random.IntN(2))), annotations)
		if random.IntN(4) == 0 {
			metadata += `,"deletionTimestamp":"2026-01-01T11:00:00Z","finalizers":["kopf.zalando.org/KopfFinalizerMarker"]`
		}
		e := explain(t, g, metadata, spec)
		for _, initial := range []bool{false, true} {
			var got []string
			for _, h := range e.Handlers {
				if h.Verdict == explanation.Due || initial && h.Verdict == explanation.AtStart {
					got = append(got, h.ID)
				}
			}
			want := selected(t, g, metadata, spec, initial)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, at a start %t (-reactor +explained):\n%s\n%+v", seed, initial, diff, e)
			}
		}
	}
}

// selected are the handlers of changes that the reactor selects.
func selected(t *testing.T, g *declared, metadata, spec string, initial bool) []string {
	t.Helper()
	registry, err := registries.New(g)
	if err != nil {
		t.Fatal(err)
	}
	body, err := dicts.DecodeObject([]byte(`{"metadata":{"name":"w","namespace":"ns"` + metadata + `},"spec":` + spec + `}`))
	if err != nil {
		t.Fatal(err)
	}
	of := registry.ForResource(widgets)
	change, err := processing.Detect(&settings.Default().Persistence, of, causes.Observation{Body: body, Initial: initial})
	if err != nil {
		t.Fatal(err)
	}
	if !change.Reason.Handled() {
		return nil
	}
	services := &handling.Services{Base: memos.New(nil, nil), Indices: indexing.New(nil, nil)}
	cause := handling.NewCause(&handling.Object{Services: services, Resource: &widgets, Body: body}, change)
	candidates := slices.DeleteFunc(slices.Clone(of.Changing), func(h *registries.Handler) bool {
		return !h.IsFor(causes.Cause{Reason: change.Reason, Initial: change.Initial}, cause.Deleted())
	})
	matched, err := cause.Match(t.Context(), candidates)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, h := range matched {
		ids = append(ids, h.ID)
	}
	slices.Sort(ids)
	return ids
}

func randomHandlers(random *rand.Rand) []abi.Handler {
	kinds := []abi.Kind{abi.KindCreate, abi.KindUpdate, abi.KindDelete, abi.KindResume, abi.KindField}
	var all []abi.Handler
	for n := range 6 {
		all = append(all, handler(kinds[random.IntN(len(kinds))], fmt.Sprintf("h%d", n), func(h *abi.Handler) {
			if random.IntN(3) == 0 {
				labelled(string(rune('a'+random.IntN(2))), []string{`"p"`, `{"$":"PRESENT"}`, `{"$":"ABSENT"}`, `{"$":"FUNCTION"}`}[random.IntN(4)])(h)
			}
			if h.Kind == abi.KindField || random.IntN(3) == 0 {
				h.Field = [][]string{{"spec", "x"}, {"spec"}, {"spec", "y"}}[random.IntN(3)]
			}
			if h.Kind == abi.KindResume {
				h.Deleted = random.IntN(2) == 0
			}
			if random.IntN(4) == 0 {
				h.When = raw(`{"$":"FUNCTION"}`)
			}
		}))
	}
	return all
}
