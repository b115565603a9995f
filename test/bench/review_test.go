package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/logs"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/webhooks"
)

// BenchmarkReview is one validating review of a small object: from the body of the
// request to that of the answer, without HTTP and TLS, with a line of log.
func BenchmarkReview(b *testing.B) {
	for language, file := range map[string]string{"go": "bench-validating.wasm", "rust": "bench-validating-rust.wasm"} {
		b.Run(language, func(b *testing.B) {
			handler := reviewing(b, file)
			used := cpuTime(b)
			b.ResetTimer()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if text := asked(handler); !strings.Contains(text, `"allowed":true`) {
						b.Error(text)
						return
					}
				}
			})
			b.ReportMetric(float64((cpuTime(b)-used).Microseconds())/float64(b.N), "µs-of-CPU/op")
		})
	}
}

// cpuTime is what this process has used: a measure that other processes do not disturb.
func cpuTime(b *testing.B) time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// reviewBody is a review as the API server sends it, of about 1.5 KB.
var reviewBody = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"c3a8f5be-2f0e-4d4b-9c0e-1c4d6f1a2b3c",` +
	`"kind":{"group":"kopf.dev","version":"v1","kind":"KopfExample"},"resource":{"group":"kopf.dev","version":"v1","resource":"kopfexamples"},` +
	`"requestKind":{"group":"kopf.dev","version":"v1","kind":"KopfExample"},"requestResource":{"group":"kopf.dev","version":"v1","resource":"kopfexamples"},` +
	`"name":"x","namespace":"default","operation":"CREATE","userInfo":{"username":"admin","groups":["system:masters","system:authenticated"]},` +
	`"object":` + string(object(700)) + `,"oldObject":null,"dryRun":false,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}}}`

func asked(handler http.Handler) string {
	r := httptest.NewRequest(http.MethodPost, "/check?timeout=30s", strings.NewReader(reviewBody))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Body.String()
}

// What is measured must be the work, not a failure.
func TestReview(t *testing.T) {
	handler := reviewing(t, "bench-validating.wasm")
	want := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":true,"uid":"c3a8f5be-2f0e-4d4b-9c0e-1c4d6f1a2b3c"}}`
	if got := asked(handler); strings.TrimSpace(got) != want {
		t.Errorf("answered %s, want %s", got, want)
	}
}

// inside is a webhook server without connections: its handler is called directly.
type inside struct{ handler chan http.Handler }

func (s inside) Serve(ctx context.Context, handler http.Handler, announce func(webhooks.ClientConfig)) error {
	announce(webhooks.ClientConfig{})
	s.handler <- handler
	<-ctx.Done()
	return nil
}

// reviewing runs an operator with a guest, and returns what answers its reviews.
func reviewing(tb testing.TB, file string) http.Handler {
	tb.Helper()
	path := filepath.Join(guests, file)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		tb.Skipf("SKIPPED: there is no %s: `make guests` builds it, or says what is missing", file)
	}
	api := httptest.NewServer(http.HandlerFunc(emptyAPI))
	tb.Cleanup(api.Close)
	server := inside{make(chan http.Handler, 1)}
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(tb.Context())
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
	go func() { // Waited for by the cleanup.
		ended <- operator.Run(ctx, operator.Options{
			Modules: []string{path}, Host: host.Options{CacheDir: tb.TempDir()}, Admission: operator.Admission{Custom: server},
			Login: func(context.Context) (*credentials.Info, error) {
				return &credentials.Info{Config: &rest.Config{Host: api.URL}}, nil
			},
			Log: logs.New(io.Discard, logs.Options{Format: logs.Full, Level: zerolog.InfoLevel}),
		})
	}()
	select {
	case handler := <-server.handler:
		return handler
	case err := <-ended:
		ended <- nil
		tb.Fatalf("the operator has ended: %v", err)
	}
	return nil
}

// emptyAPI is an API server with one resource, and no objects.
func emptyAPI(w http.ResponseWriter, r *http.Request) {
	answers := map[string]string{
		"/version":          `{"major":"1","minor":"36","gitVersion":"v1.36.3"}`,
		"/api":              `{"kind":"APIVersions","versions":["v1"]}`,
		"/api/v1":           `{"kind":"APIResourceList","groupVersion":"v1","resources":[]}`,
		"/apis":             `{"kind":"APIGroupList","groups":[{"name":"kopf.dev","versions":[{"groupVersion":"kopf.dev/v1","version":"v1"}],"preferredVersion":{"groupVersion":"kopf.dev/v1","version":"v1"}}]}`,
		"/apis/kopf.dev/v1": `{"kind":"APIResourceList","groupVersion":"kopf.dev/v1","resources":[{"name":"kopfexamples","singularName":"kopfexample","namespaced":true,"kind":"KopfExample","verbs":["list","watch","patch"]}]}`,
	}
	w.Header().Set("Content-Type", "application/json")
	switch answer, ok := answers[r.URL.Path]; {
	case ok:
		fmt.Fprint(w, answer)
	case r.URL.Query().Get("watch") != "":
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // the client may have disconnected
		<-r.Context().Done()
	default:
		fmt.Fprint(w, `{"kind":"List","metadata":{"resourceVersion":"1"},"items":[]}`)
	}
}
