package reactor

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/events"
	"github.com/kopf-wasm/kopf/reactor/posting"
)

// answeringEmpty answers with empty listings, and reports the paths.
func answeringEmpty(asked chan string) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		if r.URL.Query().Get("watch") != "" {
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte(`{"metadata":{"resourceVersion":"7"},"items":[]}`))
	}
}

// The settings decide what is posted of events and log messages.
func TestPostingBySettings(t *testing.T) {
	tests := []struct {
		name     string
		settings map[string]string
		want     []string
	}{
		{"defaults", nil, []string{"info", "warn", "any"}},
		{"disabled", map[string]string{"posting.enabled": "false"}, []string{"warn"}},
		{"a level", map[string]string{"posting.level": "30"}, []string{"warn", "any"}},
		{"loggers", map[string]string{"posting.loggers": "true"}, []string{"info", "warn", "any", "logged"}},
		{"loggers of a level", map[string]string{"posting.loggers": "true", "posting.level": "30"}, []string{"warn", "any"}},
		{"disabled loggers", map[string]string{"posting.loggers": "true", "posting.enabled": "false"}, []string{"warn"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			op := configured(t, tt.settings)
			var got []string
			served(t, op, func(int, http.ResponseWriter, *http.Request) {})
			e := events.New(op.Settings)
			stop := e.Start(t.Context(), op.client, "", zerolog.Nop())
			var mu sync.Mutex
			e.Poster.Send = func(_ context.Context, _ apipath.Path, payload []byte, _ backoffs.Backoffs) error {
				var event struct{ Message string }
				mu.Lock()
				defer mu.Unlock()
				err := json.Unmarshal(payload, &event)
				got = append(got, event.Message)
				return err
			}
			ref := posting.Ref{APIVersion: "v1", Kind: "K", Name: "n", UID: "u"}
			for _, event := range []abi.Event{{Level: abi.LevelInfo, Message: "info"}, {Level: abi.LevelWarning, Message: "warn"}, {Message: "any"}} {
				if err := e.Explicit(ref, event); err != nil {
					t.Error(err)
				}
			}
			e.Logged(abi.LevelInfo, ref, "logged")
			stop()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("posted (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPosterBySettings(t *testing.T) {
	op := configured(t, map[string]string{
		"posting.reporting_component": `"who"`, "posting.reporting_instance": `"which"`, "posting.event_name_prefix": `"pre-"`,
		"posting.default_backoffs": "[0.01]", "posting.logging_backoffs": "[0.01, 0.01, 0.01]", "posting.loggers": "true",
		"queueing.exit_timeout": "60",
	})
	seen := served(t, op, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	e := events.New(op.Settings)
	stop := e.Start(t.Context(), op.client, "", zerolog.Nop())
	payloads := make(chan string, 10)
	send := e.Poster.Send
	e.Poster.Send = func(ctx context.Context, path apipath.Path, payload []byte, pauses backoffs.Backoffs) error {
		payloads <- string(payload)
		return send(ctx, path, payload, pauses)
	}
	ref := posting.Ref{APIVersion: "v1", Kind: "K", Name: "n", UID: "u"}
	if err := e.Explicit(ref, abi.Event{Level: abi.LevelInfo, Message: "said"}); err != nil {
		t.Error(err)
	}
	for _, own := range []string{"[]", "0.01", "[0.01, 0.01]"} {
		if err := e.Explicit(ref, abi.Event{Level: abi.LevelInfo, Message: "with its own", Backoffs: abi.Raw(own)}); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{`"often"`, "[-1]", "{"} {
		if err := e.Explicit(ref, abi.Event{Level: abi.LevelInfo, Message: "bad", Backoffs: abi.Raw(bad)}); err == nil || !strings.Contains(err.Error(), "the backoffs of an event") {
			t.Errorf("%s: got %v", bad, err)
		}
	}
	e.Logged(abi.LevelInfo, ref, "logged")
	stop()
	if n := len(seen.all()); n != 2+1+2+3+4 {
		t.Errorf("%d attempts, want 2 for what was said, 1, 2 and 3 for those with backoffs of their own, and 4 for what was logged", n)
	}
	first := <-payloads
	for _, want := range []string{`"reportingComponent":"who"`, `"reportingInstance":"which"`, `"generateName":"pre-"`} {
		if !strings.Contains(first, want) {
			t.Errorf("no %s in %s", want, first)
		}
	}
}

// An object keeps its limited place for a while, so that the others wait for it.
func TestPlacesOfPostersBySettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := configured(t, map[string]string{"posting.worker_limit": "1", "posting.idle_timeout": "3"}).Settings
		began := time.Now()
		var mu sync.Mutex
		posted := map[string]time.Duration{}
		poster := &posting.Poster{Send: func(_ context.Context, _ apipath.Path, payload []byte, _ backoffs.Backoffs) error {
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			posted[string(payload[strings.Index(string(payload), `"message"`):][:13])] = time.Since(began)
			return nil
		}, Warn: func(string) {}}
		poster.Start(t.Context(), s.Posting.WorkerLimit, s.Posting.IdleTimeout)
		for _, message := range []string{"a1", "a2"} {
			if err := poster.Post(posting.Event{Ref: posting.Ref{UID: "a"}, Message: message}); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if err := poster.Post(posting.Event{Ref: posting.Ref{UID: "b"}, Message: "b1"}); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		poster.Wait()
		want := map[string]time.Duration{`"message":"a1`: time.Second, `"message":"a2`: 2 * time.Second, `"message":"b1`: 6 * time.Second}
		if diff := cmp.Diff(want, posted); diff != "" {
			t.Errorf("posted at (-want +got):\n%s", diff)
		}
	})
}
