package scenarios

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/operator/guesttest"
	"github.com/kopf-wasm/kopf/reactor/guests"
)

// results runs the scenarios of a text, and returns what kopf test prints, without times.
func results(t *testing.T, guest *guesttest.Guest, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "op_test.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, s := range file.Scenarios {
		x := &Runner{Guests: []guests.Guest{guest}, Limit: time.Minute, Log: zerolog.Nop()}
		handlers, err := x.Check(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		outcome := x.Run(t.Context(), file, s, handlers)
		outcome.Took, outcome.File = 0, "op_test.yaml"
		if err := outcome.Print(&out); err != nil {
			t.Fatal(err)
		}
	}
	return strings.ReplaceAll(out.String(), path, "op_test.yaml")
}

const object = `{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: a}, spec: {field: value}}`

func shows(t *testing.T, want, got string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestAWeekOfTimersAndRetries(t *testing.T) {
	guest := &guesttest.Guest{
		Handlers: []abi.Handler{guesttest.Declared(abi.KindTimer, "renew", `{"interval":3600}`), guesttest.Declared(abi.KindCreate, "create_fn", "")},
		Do: map[string]guesttest.Handler{"create_fn": func(c *guesttest.Call, _ *abi.Answer) *abi.Step {
			if c.Retry < 3 {
				return guesttest.Temporary("it is not paid yet", 86400)
			}
			return guesttest.Patch(`{"status":{"phase":"Active"}}`)
		}},
	}
	shows(t, "ok   op_test.yaml: a week (173 calls, 7d2s in 0s)\n", results(t, guest, `
scenarios:
- name: a week
  steps:
  - apply: `+object+`
  - expect:
      calls:
      - {handler: create_fn, object: a, reason: create, retry: 0, error: not paid}
      - renew
      objects: {kind: KopfExample, metadata: {name: a}, status: {phase: null}}
  - advance: 7d
  - expect:
      calls: {create_fn: 3, renew: 168}
      objects: {kind: KopfExample, metadata: {name: a, annotations: {kopf.zalando.org/create_fn: null}}, status: {phase: Active}}
`))
}

func TestUnmetExpectationsReadLikeADiff(t *testing.T) {
	guest := &guesttest.Guest{
		Handlers: []abi.Handler{guesttest.Declared(abi.KindCreate, "create_fn", ""), guesttest.Declared(abi.KindUpdate, "update_fn", "")},
		Do: map[string]guesttest.Handler{"create_fn": func(c *guesttest.Call, _ *abi.Answer) *abi.Step {
			_ = c.Event(abi.Event{Type: "Normal", Reason: "Created", Message: "hello"})
			return guesttest.Result(`{"message":"hello"}`)
		}},
	}
	shows(t, `FAIL op_test.yaml: wrong (1 call, 2s in 0s)
  op_test.yaml:7:14: calls
    - update_fn
      create_fn
    - create_fn
  op_test.yaml:9:9: KopfExample/a
    - spec.list: [1]
    + spec.list: (absent)
    - status.create_fn.message: "hallo"
    + status.create_fn.message: "hello"
  op_test.yaml:10:9: KopfExample/b
    - exists
    + absent
      there is KopfExample/default/a
  op_test.yaml:11:15: KopfExample/a
    - absent
    + exists
  op_test.yaml:12:15: events
    - Removed
    + {"message":"hello","object":"a","reason":"Created","type":"Normal"}
  op_test.yaml:14:14: logs: not found
    - good-bye
    + (no logs)
`, results(t, guest, `
scenarios:
- name: wrong
  steps:
  - apply: `+object+`
  - expect:
      calls: [update_fn, create_fn, create_fn]
      objects:
      - {kind: KopfExample, metadata: {name: a}, spec: {list: [1]}, status: {create_fn: {message: hallo}}}
      - {kind: KopfExample, metadata: {name: b}}
      absent: KopfExample/a
      events: [Removed]
      requests: []
      logs: [good-bye]
`))
}

func TestTheClusterChangesAroundTheOperator(t *testing.T) {
	guest := &guesttest.Guest{
		Handlers: []abi.Handler{
			guesttest.Declared(abi.KindResume, "resume_fn", ""), guesttest.Declared(abi.KindUpdate, "update_fn", ""),
			guesttest.Declared(abi.KindDelete, "delete_fn", ""), guesttest.Declared(abi.KindEvent, "event_fn", ""),
		},
		Do: map[string]guesttest.Handler{
			"update_fn": func(_ *guesttest.Call, answer *abi.Answer) *abi.Step {
				if answer == nil {
					return guesttest.Get("/api/v1/namespaces/default/configmaps/c")
				}
				return guesttest.Result(string(answer.Response.Body))
			},
			"delete_fn": func(c *guesttest.Call, answer *abi.Answer) *abi.Step {
				if answer == nil {
					return guesttest.Wait(60)
				}
				return guesttest.Done(abi.Outcome{})
			},
		},
	}
	shows(t, "ok   op_test.yaml: a life (11 calls, 1m12s in 0s)\n", results(t, guest, `
allow: get:configmaps
scenarios:
- name: a life
  now: 2030-05-05T05:05:05Z
  wait: 2s
  objects:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {x: y}}
  - apiVersion: kopf.dev/v1
    kind: KopfExample
    metadata:
      name: a
      finalizers: [kopf.zalando.org/KopfFinalizerMarker]
      annotations: {kopf.zalando.org/last-handled-configuration: '{"spec":{"field":"value"}}'}
    spec: {field: value}
  steps:
  - expect: {calls: [event_fn, resume_fn], patches: []}
  - change: {kind: KopfExample, metadata: {name: a}, spec: {field: other}}
  - expect:
      calls: {update_fn: 1, resume_fn: 0}
      requests: [{request: GET /api/v1/namespaces/default/configmaps/c, status: 200}]
      patches: [{patch: {status: {update_fn: {data: {x: y}}}}}]
  - disconnect: yes
  - event: {type: MODIFIED, object: {apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: a}}}
  - expect: {calls: [event_fn]}
  - restart: now
  - expect: {calls: {resume_fn: 1}}
  - delete: KopfExample/a
  - expect: {calls: {delete_fn: 1}, objects: {kind: KopfExample, metadata: {name: a, deletionTimestamp: "2030-05-05T05:05:15Z"}}}
  - advance: 1m
  - expect: {absent: [KopfExample/a]}
`))
}

func TestMistakesInFilesHavePlaces(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a key", "scenaros: []", `:1:1: unknown key "scenaros": did you mean scenarios?`},
		{"a step", "scenarios:\n- name: x\n  steps:\n  - aply: {}", `:4:5: unknown key "aply": did you mean apply?`},
		{"two steps", "scenarios:\n- name: x\n  steps:\n  - {advance: 1d, restart: now}", `:4:5: a step with 2 actions: write each as an item of its own`},
		{"an expectation", "scenarios:\n- name: x\n  steps:\n  - expect: {call: []}", `:4:14: unknown key "call": did you mean calls?`},
		{"a call", "scenarios:\n- name: x\n  steps:\n  - expect: {calls: [{handlr: x}]}", `:4:23: unknown key "handlr": did you mean handler?`},
		{"a time span", "scenarios:\n- name: x\n  steps:\n  - advance: a week", `:4:14: "a week" is not a time span: write 90s, 15m, 12h or 7d`},
		{"a time", "scenarios:\n- name: x\n  now: today\n  steps: []", `:3:8: "today" is not a time: write 2026-01-01T00:00:00Z`},
		{"a time of another age", "scenarios:\n- name: x\n  now: 9999-12-31T23:59:59Z\n  steps: []", `:3:8: 9999-12-31T23:59:59Z: the time must be before the year 2200`},
		{"a name twice", "scenarios:\n- {name: x, steps: []}\n- {name: x, steps: []}", `:3:3: a second scenario "x": the first one is in line 2`},
		{"no steps", "scenarios:\n- name: x", `:2:3: the scenario "x" has no steps`},
		{"an object", "scenarios:\n- name: x\n  steps:\n  - apply: {kind: X}", `:4:12: an object without apiVersion`},
		{"a setting", "settings: {execution.max_worker: 1}\nscenarios: []", ":1:11: "},
		{"a file", "definitions: crd.yaml\nscenarios: []", ":1:14: open "},
		{"an answer", "scenarios:\n- name: x\n  answers: [{request: GTE /}]\n  steps: []", `:3:23: unknown method "GTE": did you mean GET?`},
		{"an event", "scenarios:\n- name: x\n  steps:\n  - event: {type: MODIFED, object: " + object + "}", `:4:19: unknown type of an event "MODIFED": did you mean MODIFIED?`},
		{"a reference", "scenarios:\n- name: x\n  steps:\n  - delete: a", ":4:13: name an object as KIND/NAME or KIND/NAMESPACE/NAME"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "op_test.yaml")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Read(path)
			if err == nil || !strings.HasPrefix(err.Error(), path+tt.want) {
				t.Errorf("error = %v\nwant    %s", err, path+tt.want)
			}
		})
	}
}

func TestMistakesInNamesAreFoundWhileRunning(t *testing.T) {
	guest := &guesttest.Guest{Handlers: []abi.Handler{guesttest.Declared(abi.KindCreate, "create_fn", "")}}
	shows(t, `FAIL op_test.yaml: handler (0 calls, 1s in 0s)
  op_test.yaml:4:44: unknown handler "creat_fn": did you mean create_fn?
FAIL op_test.yaml: count (0 calls, 1s in 0s)
  op_test.yaml:5:42: unknown handler "creat_fn": did you mean create_fn?
FAIL op_test.yaml: kind (0 calls, 1s in 0s)
  op_test.yaml:6:32: unknown kind "KopfExampl": did you mean KopfExample?
`, results(t, guest, `
scenarios:
# `+object+`
- {name: handler, steps: [expect: {calls: [creat_fn]}]}
- {name: count, steps: [expect: {calls: {creat_fn: 1}}]}
- {name: kind, steps: [delete: KopfExampl/a, apply: `+object+`]}
`))
}

func TestOperatorsThatDoNotStartFailTheScenario(t *testing.T) {
	guest := &guesttest.Guest{
		Handlers: []abi.Handler{guesttest.Declared(abi.KindStartup, "begin", "")},
		Do: map[string]guesttest.Handler{"begin": func(*guesttest.Call, *abi.Answer) *abi.Step {
			return guesttest.Permanent("the configuration is incomplete")
		}},
	}
	text := results(t, guest, "scenarios:\n- {name: start, steps: []}\n")
	if !strings.HasPrefix(text, "FAIL op_test.yaml: start (1 call, 0s in 0s)\n  the operator has not started: startup: ") || !strings.Contains(text, "the configuration is incomplete") {
		t.Errorf("output:\n%s", text)
	}
}

func TestReportsForContinuousIntegration(t *testing.T) {
	var out bytes.Buffer
	err := JUnit(&out, []*Outcome{
		{File: "a_test.yaml", Name: "good", Line: 3, Took: time.Second},
		{File: "a_test.yaml", Name: "bad <1>", Line: 9, Mismatches: []Mismatch{{"a_test.yaml:10:3", "calls", []string{"- a", "+ b"}}}},
	})
	shows(t, `<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="kopf test" tests="2" failures="1">
  <testcase classname="a_test.yaml" name="good" time="1.000"></testcase>
  <testcase classname="a_test.yaml" name="bad &lt;1&gt;" time="0.000">
    <failure message="a_test.yaml:9">a_test.yaml:10:3: calls&#xA;  - a&#xA;  + b&#xA;</failure>
  </testcase>
</testsuite>
`, out.String())
	if err != nil {
		t.Error(err)
	}
}

// TestLoginHandlersDoNotLeadOutOfTheSimulation: their requests go to the simulated cluster, too.
func TestLoginHandlersDoNotLeadOutOfTheSimulation(t *testing.T) {
	for name, result := range map[string]string{"a login of the host": `{"login":"host"}`, "a token": `{"token":"x"}`, "a server": `{"server":"https://example.com","token":"x"}`} {
		t.Run(name, func(t *testing.T) {
			guest := &guesttest.Guest{
				Handlers: []abi.Handler{guesttest.Declared(abi.KindLogin, "login", ""), guesttest.Declared(abi.KindCreate, "create_fn", "")},
				Do:       map[string]guesttest.Handler{"login": func(*guesttest.Call, *abi.Answer) *abi.Step { return guesttest.Result(result) }},
			}
			shows(t, "ok   op_test.yaml: login (1 call, 2s in 0s)\n", results(t, guest, "scenarios:\n- {name: login, steps: [apply: "+object+", expect: {calls: {create_fn: 1, login: 0}}]}\n"))
		})
	}
}

// TestOperatorsWithAdmissionHandlersStart: their other handlers are tested.
func TestOperatorsWithAdmissionHandlersStart(t *testing.T) {
	guest := &guesttest.Guest{Handlers: []abi.Handler{guesttest.Declared(abi.KindValidate, "check", ""), guesttest.Declared(abi.KindCreate, "create_fn", "")}}
	shows(t, "ok   op_test.yaml: start (3 calls, 3s in 0s)\n", results(t, guest, "scenarios:\n- {name: start, steps: [apply: "+object+", expect: {calls: [check, create_fn, check]}]}\n"))
}

// TestSubHandlersAreCallsOfTheirOwn shows their ids, and that settings of the file apply.
func TestSubHandlersAreCallsOfTheirOwn(t *testing.T) {
	guest := &guesttest.Guest{
		Handlers: []abi.Handler{guesttest.Declared(abi.KindCreate, "parent", "")},
		Do: map[string]guesttest.Handler{
			"parent": func(*guesttest.Call, *abi.Answer) *abi.Step {
				step := guesttest.Done(abi.Outcome{})
				step.Children = []abi.Handler{{Kind: abi.KindSub, ID: "a"}, {Kind: abi.KindSub, ID: "b"}}
				return step
			},
			"parent/b": func(c *guesttest.Call, _ *abi.Answer) *abi.Step {
				if c.Retry == 0 {
					return guesttest.Done(abi.Outcome{Error: &abi.Error{Kind: abi.ErrorArbitrary, Message: "odd"}})
				}
				return guesttest.Result(`{"done":true}`)
			},
		},
	}
	shows(t, "ok   op_test.yaml: children (6 calls, 7s in 0s)\n", results(t, guest, `
settings: {execution: {default_backoff: 5}}
scenarios:
- name: children
  steps:
  - apply: `+object+`
  - expect: {calls: [parent, parent/a, parent, {handler: parent/b, error: odd}]}
  - advance: 5s
  - expect: {calls: [parent, {handler: parent/b, retry: 1}], objects: {kind: KopfExample, metadata: {name: a}, status: {parent/b: {done: true}}}}
`))
}

// TestScenariosThatDoNotEndNameTheirStep and end no other scenario: the process has to end.
func TestScenariosThatDoNotEndNameTheirStep(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	guest := &guesttest.Guest{
		Handlers: []abi.Handler{guesttest.Declared(abi.KindCreate, "create_fn", "")},
		Do: map[string]guesttest.Handler{"create_fn": func(*guesttest.Call, *abi.Answer) *abi.Step {
			<-release // not in virtual time
			return guesttest.Done(abi.Outcome{})
		}},
	}
	path := filepath.Join(t.TempDir(), "op_test.yaml")
	if err := os.WriteFile(path, []byte("scenarios:\n- name: stuck\n  steps:\n  - advance: 1s\n  - apply: "+object+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	x := &Runner{Guests: []guests.Guest{guest}, Limit: time.Second, Log: zerolog.Nop()}
	outcome := x.Run(t.Context(), file, file.Scenarios[0], []string{"create_fn"})
	if !outcome.Stuck || !strings.HasPrefix(outcome.Error, path+":5:5: the time limit is over: 1s of real time") {
		t.Errorf("stuck = %v, error = %s", outcome.Stuck, outcome.Error)
	}
}

// TestEmptyListsExpectNothing: as for calls, events and requests.
func TestEmptyListsExpectNothing(t *testing.T) {
	guest := &guesttest.Guest{
		Handlers: []abi.Handler{guesttest.Declared(abi.KindCreate, "create_fn", "")},
		Do: map[string]guesttest.Handler{"create_fn": func(c *guesttest.Call, _ *abi.Answer) *abi.Step {
			c.Log(20, "hello")
			return guesttest.Done(abi.Outcome{})
		}},
	}
	got := results(t, guest, `
scenarios:
- name: something
  steps:
  - apply: `+object+`
  - expect: {logs: [], patches: []}
- name: nothing
  steps:
  - expect: {logs: [], patches: []}
`)
	for _, want := range []string{"FAIL op_test.yaml: something", "6:20: logs\n    + hello\n", "6:33: patches\n    + {", "ok   op_test.yaml: nothing"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
}
