package vectors

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/stores"
)

var progressFunctions = map[string]Function{
	"progress-states": {Call: progressState, Equal: sameByValue},
	"lifecycles":      {Call: lifecycle},
	"times":           {Call: times},
}

// now is any moment after those of the recorded records.
var now = time.Date(2024, 5, 6, 7, 8, 9, 123456000, time.UTC)

// recordedOutcome is one of the outcomes that the recordings name.
type recordedOutcome struct {
	final   bool
	message string // empty: no error
	delay   int    // seconds; negative: none
	subrefs []string
}

var recordedOutcomes = map[string]recordedOutcome{
	"success":      {final: true, delay: -1},
	"success-none": {final: true, delay: -1},
	"ignored":      {final: true, delay: -1},
	"temporary":    {message: "msg", delay: 10},
	"zero-delay":   {message: "msg", delay: 0},
	"no-delay":     {message: "msg", delay: -1},
	"permanent":    {final: true, message: "perm", delay: -1},
	"retries":      {final: true, message: "too many", delay: -1},
	"children":     {message: "None", delay: 5, subrefs: []string{"fn/b", "fn/a"}},
}

func (r recordedOutcome) outcome() progression.Outcome {
	out := progression.Outcome{Final: r.final, Subrefs: r.subrefs}
	if r.message != "" {
		out.Error = &r.message
	}
	if delay := time.Duration(r.delay) * time.Second; delay >= 0 {
		out.Delay = &delay
	}
	return out
}

func progressState(c Case) (any, error) {
	annotations := dicts.Object{}
	if stored := c.In["stored"]; stored != nil {
		annotations["kopf.zalando.org/fn"] = string(dicts.Encode(stored))
	}
	recorded, ok := recordedOutcomes[dicts.LookupString(c.In, "outcome")]
	if !ok {
		return nil, fmt.Errorf("unknown outcome %v", c.In["outcome"])
	}
	ids := []string{"fn"}
	state, err := restore(annotations, ids)
	if err != nil {
		return nil, err
	}
	state = state.WithPurpose(dicts.LookupString(c.In, "purpose")).WithHandlers(ids, now)
	before := dicts.Object{"done": state.Done(), "extras": extras(state), "awakened": state.Handler("fn").Awakened(now)}
	state, err = state.WithOutcomes(map[string]progression.Outcome{"fn": recorded.outcome()}, now)
	if err != nil {
		return nil, err
	}
	return dicts.Object{
		"before": before,
		"record": maskedRecord(state.Handler("fn").Record(), recorded.delay),
		"done":   state.Done(),
		"counts": counts(state.Counts()),
		"delays": delays(state),
	}, nil
}

func restore(annotations dicts.Object, ids []string) (progression.State, error) {
	body := dicts.Object{"metadata": dicts.Object{"annotations": annotations}}
	storage := stores.NewAnnotationsProgress(stores.AnnotationsProgressOptions{})
	return progression.FromStorage(body, storage, ids, now)
}

// maskedRecord replaces the times that are not of the recorded record.
func maskedRecord(record stores.Record, delay int) dicts.Object {
	obj, _ := withoutNulls(record.Object()).(dicts.Object)
	masks := map[string]string{"started": "<now>", "stopped": "<now>", "delayed": fmt.Sprintf("<now+%d>", delay)}
	for key, mask := range masks {
		if text, ok := obj[key].(string); ok && !strings.HasPrefix(text, "2020") {
			obj[key] = mask
		}
	}
	return obj
}

func extras(state progression.State) dicts.Object {
	out := dicts.Object{}
	for _, extra := range state.Extras() {
		out[extra.Purpose] = counts(extra.Counts)
	}
	return out
}

func counts(c progression.Counts) dicts.Object {
	return dicts.Object{"success": c.Success, "failure": c.Failure, "running": c.Running}
}

// delays are rounded to a digit, as in the recordings.
func delays(state progression.State) []any {
	out := []any{}
	for _, delay := range state.Delays(now) {
		out = append(out, math.Round(delay.Seconds()*10)/10)
	}
	return out
}

// lifecycle gets the handlers in the order of the keys.
func lifecycle(c Case) (any, error) {
	ids := slices.Concat(keysOf(c.raw["retries"])...)
	annotations := dicts.Object{}
	for id, retries := range dicts.LookupObject(c.In, "retries") {
		annotations["kopf.zalando.org/"+id] = string(dicts.Encode(dicts.Object{"retries": retries}))
	}
	state, err := restore(annotations, ids)
	if err != nil {
		return nil, err
	}
	choose, err := progression.LifecycleByName(dicts.LookupString(c.In, "lifecycle"), func(int) int { return 0 })
	if err != nil {
		return nil, err
	}
	return dicts.List(choose(ids, state)), nil
}

func times(c Case) (any, error) {
	if text, ok := c.In["format"].(string); ok {
		t, aware, err := stores.ParseTime(text)
		if err != nil {
			return nil, err
		}
		formatted := stores.FormatTime(t)
		if !aware { // such times exist in Python only
			formatted = strings.TrimSuffix(formatted, "+00:00")
		}
		return formatted, nil
	}
	text, ok := c.In["parse"].(string)
	if !ok {
		return nil, nil
	}
	t, aware, err := stores.ParseTime(text)
	if err != nil {
		return nil, err
	}
	return dicts.Object{"iso": isoFormat(t, aware), "aware": aware}, nil
}

// isoFormat is Python's datetime.isoformat: with a fraction only if there is one.
func isoFormat(t time.Time, aware bool) string {
	layout := "2006-01-02T15:04:05"
	if t.Nanosecond() != 0 {
		layout += ".000000"
	}
	if aware {
		layout += "-07:00"
	}
	return t.Format(layout)
}
