package activities

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// activityOf is an activity with handlers of a guest.
func activityOf(t *testing.T, kind abi.Kind, guest guests.Guest, ids ...string) *Activity {
	t.Helper()
	e, err := generations.New(0, &registries.Registry{}, handling.Services{Account: accounts.New(accounts.Limits{})}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &Activity{Kind: kind, Settings: settings.Default(), Services: e.Services, Log: zerolog.Nop()}
	for _, id := range ids {
		a.Handlers = append(a.Handlers, reactortest.HandlerOf(t, guest, fmt.Sprintf(`{"kind":%q,"id":%q}`, kind, id)))
	}
	return a
}

// TestLoggersOfActivities: as in Kopf, each activity has a logger of its own, by which people filter the lines.
func TestLoggersOfActivities(t *testing.T) {
	for kind, want := range map[abi.Kind]string{abi.KindStartup: "kopf.activities.startup", abi.KindLogin: "kopf.activities.authentication"} {
		var log bytes.Buffer
		a := activityOf(t, kind, &reactortest.Scripted{}, "fn")
		a.Log = zerolog.New(&log)
		if _, err := a.Run(t.Context()); err != nil || !strings.Contains(log.String(), `"logger":"`+want+`"`) {
			t.Errorf("%s: the error is %v, and the log %s", kind, err, &log)
		}
	}
}

// TestStartupHandlersShareTheSettings: as in Kopf, where they have one object. What a handler has changed holds at once, also if
// it has failed then.
func TestStartupHandlersShareTheSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guest := &reactortest.Scripted{Attempts: []string{
			`{"step":"done","settings":{"execution.default_backoff":5,"posting.level":10},"error":{"kind":"arbitrary","message":"not yet"}}`,
			`{"step":"done","settings":{"posting.level":30}}`,
			`{"step":"done","settings":{"posting.level":40}}`,
		}}
		a := activityOf(t, abi.KindStartup, guest, "a", "b", "c")
		done, err := a.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if level, backoff := string(done.Settings["posting.level"]), string(done.Settings["execution.default_backoff"]); level != "40" || backoff != "5" {
			t.Errorf("the level is %s, want that of the last handler; the backoff is %s", level, backoff)
		}
		if len(guest.Times) != 4 || guest.Times[3].Sub(guest.Times[0]) != 5*time.Second {
			t.Errorf("the attempts were at %v, want the last after the new backoff", guest.Times)
		}
		var levels []any
		for _, call := range guest.Invocations {
			var seen map[string]any
			if err := json.Unmarshal(call.Settings, &seen); err != nil {
				t.Fatal(err)
			}
			levels = append(levels, seen["posting.level"])
		}
		if got := fmt.Sprint(levels); got != "[20 10 30 40]" {
			t.Errorf("the handlers were called with the levels %s", got)
		}
	})
}

// TestFunctionsWithOneID: as in Kopf, all of them are called, such as two functions configure() in two modules. None of them hides
// the failure of another one.
func TestFunctionsWithOneID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guest := &reactortest.Scripted{Attempts: []string{`{"step":"done","error":{"kind":"temporary","message":"not yet","delay":5}}`}}
		a := activityOf(t, abi.KindStartup, guest, "configure", "configure")
		a.Handlers[1].Fn = "another"
		if _, err := a.Run(t.Context()); err != nil || len(guest.Times) != 4 || guest.Times[3].Sub(guest.Times[0]) != 5*time.Second {
			t.Errorf("the error is %v; the attempts were at %v, want two at once, and both again after the delay", err, guest.Times)
		}
	})
}
