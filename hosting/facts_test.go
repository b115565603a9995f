package hosting

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/facts"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/meters"
)

// fact returns the facts of the only operator.
func (x *fixture) fact() facts.Operator {
	x.t.Helper()
	synctest.Wait()
	all := x.Facts()
	if len(all) != 1 {
		x.t.Fatalf("%d operators", len(all))
	}
	return all[0]
}

// TestRetryEndsTheQuarantine: by the endpoint, and by the annotation of the declaration. An
// operator that serves is not disturbed.
func TestRetryEndsTheQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		fail := func(f *fake) { f.fails <- errors.New("it computes nonsense") }
		x.setUp = fail
		d := x.declared("a", 1, nil)
		quarantined := func(runs int) {
			t.Helper()
			time.Sleep(10 * time.Hour)
			x.has("a", api.Quarantined, api.True, "CrashLoop", "or by kopf retry")
			if n := len(x.all()); n != runs {
				t.Errorf("it was started %d times, want %d", n, runs)
			}
		}
		quarantined(maxCrashes)
		if err := x.Retry(d.Key); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		x.has("a", api.Quarantined, api.False, "None", "") // it has failed once
		quarantined(2 * maxCrashes)
		d.Retry = "1"
		x.Declare(d)
		quarantined(3 * maxCrashes)
		x.Declare(d)
		quarantined(3 * maxCrashes)
		x.mu.Lock()
		x.setUp = func(*fake) {}
		x.mu.Unlock()
		if err := x.Retry(d.Key); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		x.has("a", api.Ready, api.True, "Serving", "")
		if err := x.Retry(d.Key); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := len(x.all()); n != 3*maxCrashes+1 {
			t.Errorf("an operator that serves was started again: %d", n)
		}
		x.all()[3*maxCrashes].problems.Store(&[]string{"things: refused"})
		time.Sleep(2 * lookInterval)
		if err := x.Retry(d.Key); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		x.has("a", api.Ready, api.True, "Serving", "")
		if n := len(x.all()); n != 3*maxCrashes+2 {
			t.Errorf("an operator that may not list its objects was not started again: %d", n)
		}
		if err := x.Retry(Key{Kind: api.Namespaced, Namespace: "ns", Name: "b"}); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "WasmOperator ns/b") {
			t.Errorf("of an unknown one: %v", err)
		}
	})
}

// TestRetryWhileLoading: an operator that has just begun to list its objects is not stopped by a retry. Its module may be refused now.
func TestRetryWhileLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.setUp = func(f *fake) { f.unaware.Store(true) }
		d := x.declared("a", 1, nil)
		x.has("a", api.Ready, api.False, "Loading", "the operator lists its objects")
		if err := x.Retry(d.Key); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := len(x.all()); n != 1 {
			t.Errorf("it was started %d times", n)
		}
	})
}

// TestFactsAreThoseOfTheOperator: each number comes from the operator, and texts of guests
// are on one line, without control characters, and bounded.
func TestFactsAreThoseOfTheOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		ended := meters.Calls{Handler: "create_fn", Reason: "create", Retries: 3, Running: 4}
		ended.Ended[meters.Failed] = 2
		x.options.Output = zerolog.LevelWriterAdapter{Writer: zerolog.NewTestWriter(t)}
		x.setUp = func(f *fake) {
			f.usage = operator.Usage{
				Charged:  operator.Memory{Used: 30, Limit: 50, Refused: 4},
				Counts:   reactor.Counts{Objects: 1, Daemons: 2, Queued: 3, Working: 4, Calls: handling.Counts{Attempts: 5, Failures: 6, Delayed: 7}, EventsDropped: 8},
				Held:     []accounts.Usage{{Kind: accounts.Memos, Used: 100, Limit: 1000, Refused: 9}, {Kind: accounts.Indices, Used: 11, Limit: 20}, {Kind: accounts.Bodies}},
				Handlers: []meters.Calls{ended}, Requests: []meters.Answers{{Method: "GET", Code: "200", Count: 1}, {Method: "POST", Code: "200", Count: 2}}, Oldest: 2 * time.Second, Spans: &operator.Spans{Sent: 8, Dropped: 7},
				Modules: map[string]host.Usage{
					"m": {Spent: host.Spent{Computing: time.Second}, Failed: 10, Stopped: 2, Living: 1, Memory: 4096},
					"n": {Spent: host.Spent{Computing: time.Second / 2}, Failed: 1, Stopped: 1, Living: 2, Memory: 4096},
				},
			}
			f.throttles.Store(&[]operator.Throttle{{Limit: "LoopRate", Times: 1}, {Limit: "RequestRate", Times: 8}, {Limit: "ComputeLimit", Times: 3}})
			f.options.Log.Error().Err(errors.New("\x1b[31m<script>\nforged" + strings.Repeat("x", 5000))).Msg("of a guest")
		}
		x.declared("a", 1, nil)
		x.has("a", api.Ready, api.True, "Serving", "")
		f := x.fact()
		want := facts.Work{Objects: 1, Daemons: 2, Queued: 3, Working: 4, Retries: 7, Calls: 5, Errors: 6, Lost: 11, Instances: 3, ComputingSeconds: 1.5, EventsDropped: 8, OldestSeconds: 2}
		if f.Work != want {
			t.Errorf("work %+v", f.Work)
		}
		if f.Memory != (facts.Memory{Instances: 8192, Host: 111}) {
			t.Errorf("memory %+v", f.Memory)
		}
		measured, err := json.Marshal(f.Measured)
		if err != nil || string(measured) != `{"handlers":[{"handler":"create_fn","reason":"create","calls":{"failed":2},"retries":3,"running":4,"seconds":0}],"requests":{"200":3},"spans":{"sent":8,"dropped":7}}` {
			t.Errorf("measured %s, %v", measured, err)
		}
		limits, err := json.Marshal(f.Limits)
		if err != nil || string(limits) != `[{"name":"HostMemory","used":30,"limit":50,"hits":4},{"name":"MemoMemory","used":100,"limit":1000,"hits":9},{"name":"IndexMemory","used":11,"limit":20,"hits":0},{"name":"RequestRate","hits":8},{"name":"ComputeLimit","hits":3}]` {
			t.Errorf("limits %s, %v", limits, err)
		}
		if !f.Ready || f.Reason != "Serving" || f.Started == nil || f.Module.Handlers != 1 || len(f.Conditions) == 0 || f.Account == "" {
			t.Errorf("facts %+v", f)
		}
		if len(f.Errors) != 1 || strings.ContainsAny(f.Errors[0].Message, "\n\x1b") || len(f.Errors[0].Message) > facts.MaxText+100 {
			t.Errorf("errors %+v", f.Errors)
		}
	})
}

// TestFactsOfOperatorsThatDoNotRun: nothing is missing in the JSON of an operator that was
// refused.
func TestFactsOfOperatorsThatDoNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.fetch = func(context.Context, string) error { return errors.New("\x1b[31mno") }
		x.declared("a", 1, nil)
		x.has("a", api.Resolved, api.False, "FetchFailed", "no")
		f := x.fact()
		text, err := json.Marshal(f)
		if err != nil || strings.Contains(string(text), ":null") || strings.Contains(f.Conditions[0].Message, "\x1b") {
			t.Errorf("%s, %v", text, err)
		}
		if f.Ready || f.Started != nil || f.Reason != "FetchFailed" {
			t.Errorf("facts %+v", f)
		}
	})
}

// TestFactsOfForgedConditions: any account that may write the status of a declaration chooses the conditions with which a host begins.
func TestFactsOfForgedConditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.create = func(string) error { return errors.New("it does not load") }
		x.Declare(Declaration{
			Key: Key{Kind: api.Namespaced, Namespace: "team", Name: "a"}, UID: "u", Generation: 1, Spec: api.Spec{Module: "v1", ServiceAccountName: "sa"},
			Reported: &api.Status{Conditions: []api.Condition{{Type: api.Overlapping, Status: api.True, Reason: "\u202e" + strings.Repeat("x", 1<<20)}}},
		})
		forged := false
		for _, c := range x.fact().Conditions {
			forged = forged || c.Type == api.Overlapping
			if len(c.Reason) > 2*facts.MaxText || strings.Contains(c.Reason, "\u202e") {
				t.Errorf("%s has a reason of %d bytes: %.20q", c.Type, len(c.Reason), c.Reason)
			}
		}
		if !forged {
			t.Error("the condition is not there")
		}
	})
}

func TestObjectsAreThoseOfTheRunningOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.declared("a", 1, nil)
		x.has("a", api.Ready, api.True, "Serving", "")
		got, err := x.Object(key("a"), "known")
		until := time.Unix(1, 0).UTC()
		if want := (&facts.Object{Known: true, Waiting: 2, Working: true, Sleeps: "throttled", Until: &until, Daemons: []string{"watch"}}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		if _, err := x.Object(key("b"), "known"); !errors.Is(err, ErrUnknown) {
			t.Errorf("an operator that is not declared: %v", err)
		}
	})
}
