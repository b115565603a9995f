package clients_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// serve answers consecutive requests with the given answers.
func serve(t *testing.T, options clients.Options, answers ...func(w http.ResponseWriter)) (*clients.Client, *atomic.Int32) {
	t.Helper()
	var count atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := int(count.Add(1)) - 1
		if n >= len(answers) {
			t.Errorf("request #%d is one too many", n+1)
			return
		}
		answers[n](w)
	}))
	t.Cleanup(server.Close)
	if options.RequestTimeout == 0 {
		options.RequestTimeout = time.Minute
	}
	vault := credentials.Of(credentials.Info{Config: &rest.Config{Host: server.URL}})
	client := clients.New(vault, func() clients.Options { return options }, func(string) {})
	return client, &count
}

func status(code int, headers ...string) func(w http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","status":"Failure","code":%d,"message":"boo"}`, code)
	}
}

func ok(w http.ResponseWriter) { fmt.Fprint(w, `{"ok":true}`) }

func broken(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
}

func TestPatchIsRetried(t *testing.T) {
	short := backoffs.Seconds(0.001, 0.001)
	tests := []struct {
		name    string
		answers []func(w http.ResponseWriter)
		code    int // of the error; 0: none
	}{
		{"success", []func(http.ResponseWriter){ok}, 0},
		{"server errors", []func(http.ResponseWriter){status(500), status(503), ok}, 0},
		{"forbidden for a while", []func(http.ResponseWriter){status(403), ok}, 0},
		{"too many requests", []func(http.ResponseWriter){status(429), ok}, 0},
		{"server errors for too long", []func(http.ResponseWriter){status(500), status(500), status(502)}, 502},
		{"not found", []func(http.ResponseWriter){status(404)}, 404},
		{"conflict", []func(http.ResponseWriter){status(409)}, 409},
		{"unprocessable", []func(http.ResponseWriter){status(422)}, 422},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			client, count := serve(t, clients.Options{Backoffs: short}, tt.answers...)
			_, err := client.Patch(t.Context(), "/x", clients.MergePatch, []byte(`{}`))
			if code, _ := clients.Code(err); code != tt.code || (err == nil) != (tt.code == 0) {
				t.Errorf("error %v, want the code %d", err, tt.code)
			}
			if int(count.Load()) != len(tt.answers) {
				t.Errorf("%d requests, want %d", count.Load(), len(tt.answers))
			}
		})
	}
}

func TestLostConnectionsAreRetried(t *testing.T) {
	// HTTP/1.1 clients repeat a request themselves if a reused connection breaks; the first
	// connection is new.
	client, _ := serve(t, clients.Options{Backoffs: backoffs.Seconds(0.001)}, broken, ok)
	if _, err := client.Patch(t.Context(), "/x", clients.MergePatch, []byte(`{}`)); err != nil {
		t.Error(err)
	}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	tests := []struct {
		name    string
		options clients.Options
		after   string
		atLeast time.Duration
	}{
		{"longer than the backoff", clients.Options{Backoffs: backoffs.Seconds(0.001)}, "1", time.Second},
		{"shorter than the backoff", clients.Options{Backoffs: backoffs.Seconds(0.3)}, "0", 300 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			client, _ := serve(t, tt.options, status(429, "Retry-After", tt.after), ok)
			begin := time.Now()
			if _, err := client.Patch(t.Context(), "/x", clients.MergePatch, nil); err != nil {
				t.Error(err)
			}
			if took := time.Since(begin); took < tt.atLeast {
				t.Errorf("the second attempt came after %v, want at least %v", took, tt.atLeast)
			}
		})
	}
}

func TestGetIsNotRetried(t *testing.T) {
	client, _ := serve(t, clients.Options{Backoffs: backoffs.Seconds(0.001)}, status(403))
	if _, err := client.Get(t.Context(), "/x", nil); !apierrors.IsForbidden(err) {
		t.Errorf("got %v, want forbidden", err)
	}
}

func TestRetriesEndWithTheContext(t *testing.T) {
	client, _ := serve(t, clients.Options{Backoffs: backoffs.Seconds(3600)}, status(500))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.Patch(ctx, "/x", clients.MergePatch, nil); err == nil {
		t.Error("no error")
	}
}

func TestAnswersThatAreNoStatus(t *testing.T) {
	client, _ := serve(t, clients.Options{}, func(w http.ResponseWriter) { http.Error(w, "a proxy says no", http.StatusConflict) })
	_, err := client.Patch(t.Context(), "/x", clients.MergePatch, nil)
	if !apierrors.IsConflict(err) || err.Error() != "409 Conflict: a proxy says no" {
		t.Errorf("got %q", err)
	}
}

// TestPausesHoldNothing checks that patches between two attempts hold neither connections
// nor the slot of their caller.
func TestPausesHoldNothing(t *testing.T) {
	var answers []func(w http.ResponseWriter)
	for range clients.MaxWrites {
		answers = append(answers, status(503))
	}
	client, _ := serve(t, clients.Options{Backoffs: backoffs.Seconds(3600)}, append(answers, ok)...)
	ctx, cancel := context.WithCancel(t.Context())
	var patches sync.WaitGroup
	paused := make(chan struct{}, clients.MaxWrites)
	for range clients.MaxWrites {
		patches.Go(func() {
			release := func() { paused <- struct{}{} }
			if _, err := client.PatchInto(ctx, "/x", clients.MergePatch, []byte(`{}`), clients.Hooks{Pausing: release}, nil); err == nil {
				t.Error("a patch that was cancelled has no error")
			}
		})
	}
	for range clients.MaxWrites {
		<-paused
	}
	if _, err := client.Patch(ctx, "/x", clients.MergePatch, []byte(`{}`)); err != nil {
		t.Errorf("one more patch: %v", err)
	}
	cancel()
	patches.Wait()
}

func TestFirstRefusalIsSignalled(t *testing.T) {
	signals := 0
	client, _ := serve(t, clients.Options{Refused: func() { signals++ }}, status(404), status(403), status(403))
	for attempt, refusals := range []uint64{0, 1, 2} {
		_, err := client.Get(t.Context(), "/api/v1/pods", nil)
		if want := int(min(refusals, 1)); err == nil || client.Refused() != refusals || signals != want {
			t.Errorf("attempt %d: %v, %d refusals, %d signals, want %d and %d", attempt, err, client.Refused(), signals, refusals, want)
		}
	}
}
