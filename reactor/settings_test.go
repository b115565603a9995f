package reactor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/daemons"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/processing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// configured makes an operator with changed settings, by name.
func configured(t *testing.T, changes map[string]string) *Operator {
	t.Helper()
	return &Operator{Options: Options{Settings: reactortest.SettingsWith(t, changes)}, pauses: pauses.New(), memories: processing.NewMemories(), runnables: daemons.NewRunnables()}
}

// requests records the requests of a server.
type requests struct {
	mu   sync.Mutex
	seen []url.Values
}

func (r *requests) all() []url.Values {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

// served starts a server that records requests, and makes an operator's client for it.
func served(t *testing.T, op *Operator, answer func(n int, w http.ResponseWriter, r *http.Request)) *requests {
	t.Helper()
	seen := &requests{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.mu.Lock()
		seen.seen = append(seen.seen, r.URL.Query())
		n := len(seen.seen)
		seen.mu.Unlock()
		_, _ = io.Copy(io.Discard, r.Body) // the server notices only after this that the client has gone
		answer(n, w, r)
	}))
	t.Cleanup(server.Close)
	op.client = clientOf(op, &rest.Config{Host: server.URL})
	return seen
}

func clientOf(op *Operator, config *rest.Config) *clients.Client {
	return clients.New(credentials.Of(credentials.Info{Config: config}), op.requestOptions, func(string) {})
}

func TestRequestsBySettings(t *testing.T) {
	tests := []struct {
		name     string
		settings map[string]string
		answer   func(n int, w http.ResponseWriter, r *http.Request)
		count    int
		least    time.Duration
		fails    bool
	}{
		{
			"attempts",
			map[string]string{"networking.error_backoffs": "[0.01, 0.01]"},
			func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, 3, 0, true,
		},
		{
			"no more attempts",
			map[string]string{"networking.error_backoffs": "[]"},
			func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, 1, 0, true,
		},
		{
			"endless attempts",
			map[string]string{"networking.error_backoffs": `{"list": [0.001], "repeatLast": true}`},
			func(n int, w http.ResponseWriter, _ *http.Request) {
				if n < 20 {
					w.WriteHeader(500)
				}
			}, 20, 0, false,
		},
		{
			"a slow server",
			map[string]string{"networking.request_timeout": "0.05", "networking.error_backoffs": "[]"},
			func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 1, 50 * time.Millisecond, true,
		},
		{
			"no limit of time",
			map[string]string{"networking.request_timeout": "null", "networking.error_backoffs": "[]"},
			func(int, http.ResponseWriter, *http.Request) {}, 1, 0, false,
		},
		{
			"the longer pause",
			map[string]string{"networking.error_backoffs": "[1.3]"},
			retrySoon, 2, 1300 * time.Millisecond, false,
		},
		{
			"the server's pause",
			map[string]string{"networking.error_backoffs": "[3600]", "networking.enforce_retry_after": "true"},
			retrySoon, 2, time.Second, false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			op := configured(t, tt.settings)
			seen := served(t, op, tt.answer)
			began := time.Now()
			_, err := op.client.Patch(t.Context(), "/x", clients.MergePatch, []byte("{}"))
			if (err != nil) != tt.fails || len(seen.all()) != tt.count {
				t.Errorf("error %v after %d requests; want failure: %v after %d", err, len(seen.all()), tt.fails, tt.count)
			}
			if took := time.Since(began); took < tt.least {
				t.Errorf("took %v, want %v at least", took, tt.least)
			}
		})
	}
}

// retrySoon asks for another attempt after a second.
func retrySoon(n int, w http.ResponseWriter, _ *http.Request) {
	if n == 1 {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

// A connection that cannot be opened ends with the timeout of its kind.
func TestConnectionsBySettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op := configured(t, map[string]string{
			"networking.connect_timeout": "3", "watching.connect_timeout": "5", "networking.error_backoffs": "[]",
		})
		config := &rest.Config{Host: "http://nowhere", Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		client := clientOf(op, config)
		began := time.Now()
		if _, err := client.Patch(t.Context(), "/x", clients.MergePatch, nil); err == nil || time.Since(began) != 3*time.Second {
			t.Errorf("a patch: %v after %v, want an error after 3 s", err, time.Since(began))
		}
		began = time.Now()
		if _, err := client.Stream(t.Context(), "/x", nil, clients.Hooks{}); err == nil || time.Since(began) != 5*time.Second {
			t.Errorf("a watch: %v after %v, want an error after 5 s", err, time.Since(began))
		}
	})
}

func TestProxiesBySettings(t *testing.T) {
	proxied := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { proxied <- r.Host }))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	own, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, trusted, except string
		proxy                 func(*http.Request) (*url.URL, error) // of the kubeconfig
		want                  int
	}{
		{"the environment is not trusted", "false", "", nil, 0},
		{"the environment is trusted", "true", "", nil, 1},
		{"the environment excepts the server", "true", "cluster.invalid", nil, 0},
		{"kubeconfig has a proxy", "false", "cluster.invalid", http.ProxyURL(own), 1},
	} {
		t.Setenv("NO_PROXY", tt.except)
		op := configured(t, map[string]string{"networking.trust_env": tt.trusted, "networking.error_backoffs": "[]", "networking.connect_timeout": "1"})
		client := clientOf(op, &rest.Config{Host: "http://cluster.invalid", Proxy: tt.proxy})
		_, _ = client.Patch(t.Context(), "/x", clients.MergePatch, nil) // fails: the host does not exist without the proxy
		if len(proxied) != tt.want {
			t.Errorf("%s: the proxy got %d requests, want %d", tt.name, len(proxied), tt.want)
		}
		for len(proxied) > 0 {
			<-proxied
		}
	}
}

// silent ignores the events of a stream.
type silent struct{ listed func() }

func (silent) Event(watching.Event) {}

func (s silent) Listed() { s.listed() }

func TestStreamsBySettings(t *testing.T) {
	op := configured(t, map[string]string{
		"watching.server_timeout": "33", "watching.client_timeout": "0.05", "watching.reconnect_backoff": "0.2",
		"watching.chunk_size": "44", "watching.label_selectors": `{"pods": "a=b", "*": "c"}`,
		"watching.field_selectors": `{"v1/pods": "metadata.name=x", "other": "metadata.name=y"}`,
		"watching.shard_selectors": `[{"resource": {"kind": "Pod"}, "selector": "first"}, {"resource": "pods", "selector": "second"}]`,
	})
	seen := served(t, op, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			_, _ = w.Write([]byte(`{"metadata":{"resourceVersion":"7"},"items":[]}`))
			return
		}
		<-r.Context().Done()
	})
	pods := selectors.Resource{Version: "v1", Plural: "pods", Kind: "Pod", Preferred: true, Namespaced: true}
	stream := &watching.Stream{Client: op.client, Path: "/api/v1/pods", Options: watching.Filtered(op.Settings, pods), Log: func(int, string) {}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_ = stream.Run(ctx, silent{func() {}}) // returns the context's error
	all := seen.all()
	if len(all) < 3 || len(all) > 7 {
		t.Fatalf("%d requests in a second, want a listing, and a watch each quarter of it", len(all))
	}
	selection := map[string]string{"labelSelector": "a=b,c", "fieldSelector": "metadata.name=x", "shardSelector": "first"}
	for i, want := range []map[string]string{{"limit": "44"}, {"timeoutSeconds": "33", "resourceVersion": "7"}} {
		for _, expected := range []map[string]string{want, selection} {
			for name, value := range expected {
				if got := all[i].Get(name); got != value {
					t.Errorf("request %d: %s=%q, want %q", i, name, got, value)
				}
			}
		}
	}
}

func TestStreamedListingsBySettings(t *testing.T) {
	for _, tt := range []struct {
		name    string
		streams bool // whether the server streams listings
		want    []string
	}{{"of a new server", true, []string{"true"}}, {"of an old server", false, []string{"true", ""}}} {
		t.Run(tt.name, func(t *testing.T) {
			op := configured(t, map[string]string{"watching.initial_streaming": "true", "watching.inactivity_timeout": "60"})
			seen := served(t, op, func(_ int, w http.ResponseWriter, r *http.Request) {
				query := r.URL.Query()
				switch {
				case query.Get("sendInitialEvents") != "" && !tt.streams:
					w.WriteHeader(http.StatusUnprocessableEntity)
				case query.Get("watch") != "":
					_, _ = w.Write([]byte(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}` + "\n"))
					w.(http.Flusher).Flush()
					<-r.Context().Done()
				default:
					_, _ = w.Write([]byte(`{"metadata":{"resourceVersion":"7"},"items":[]}`))
				}
			})
			stream := &watching.Stream{Client: op.client, Path: "/x", Options: func() watching.Options { return watching.OptionsOf(op.Settings) }, Log: func(int, string) {}}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_ = stream.Run(ctx, silent{cancel}) // returns the context's error
			var got []string
			for _, query := range seen.all() {
				got = append(got, query.Get("sendInitialEvents"))
			}
			if len(got) < len(tt.want) || !slices.Equal(got[:len(tt.want)], tt.want) {
				t.Errorf("sendInitialEvents of the requests: %q, want %q", got, tt.want)
			}
		})
	}
}

// A connection over which nothing arrives is closed, both of a listing and of a watch.
func TestInactivityBySettings(t *testing.T) {
	for _, silence := range []string{"listing", "watch", "watch apart"} {
		t.Run(silence, func(t *testing.T) {
			op := configured(t, map[string]string{"watching.inactivity_timeout": "0.1", "watching.reconnect_backoff": "0"})
			third := make(chan struct{})
			served(t, op, func(n int, w http.ResponseWriter, r *http.Request) {
				if n == 3 {
					close(third)
				}
				if silence != "listing" && r.URL.Query().Get("watch") == "" {
					_, _ = w.Write([]byte(`{"metadata":{"resourceVersion":"7"},"items":[]}`))
					return
				}
				_, _ = w.Write([]byte(`{"type`))
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			})
			stream := &watching.Stream{Client: op.client, Path: "/x", Options: func() watching.Options { return watching.OptionsOf(op.Settings) }, Log: func(int, string) {}, Apart: silence == "watch apart"}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			go func() {
				select {
				case <-third:
				case <-ctx.Done():
					t.Error("the connection is never given up")
				}
				cancel()
			}()
			_ = stream.Run(ctx, silent{func() {}}) // returns the context's error
		})
	}
}

func TestExecutorIsRefused(t *testing.T) {
	if err := settings.Default().Set("execution.executor", json.RawMessage(`{}`)); err == nil {
		t.Error("there are executors")
	}
}

// reluctant is a guest whose cleanup handler waits for an hour.
type reluctant struct{ watchful }

func (*reluctant) Registration() *abi.Registration {
	return &abi.Registration{Handlers: []abi.Handler{{Kind: abi.KindCleanup, ID: "cleanup_fn"}}}
}

func (*reluctant) Start(context.Context, *abi.Invocation, []byte, guests.Env) (guests.Task, *abi.Step, error) {
	return watchfulTask{}, &abi.Step{Step: abi.StepWait, Seconds: new(3600.0)}, nil
}

// TestExitTimeoutWithoutSignals: it also limits the end of an operator that ends by itself. Its handlers are ended by force then: in a
// process with many operators, nothing else would end them.
func TestExitTimeoutWithoutSignals(t *testing.T) {
	lost := errors.New("the server has gone")
	for name, reason := range map[string]error{"all is done": errCompleted, "an error": lost} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				op, end := oneStream(t, &store{}, &reluctant{}, map[string]string{"process.ultimate_exiting_timeout": "5"})
				defer end()
				op.exiting.Store(int64(op.Settings.Process.UltimateExitingTimeout))
				op.leave = func() {}
				began, ended := time.Now(), make(chan error, 1)
				op.unlessStuck(t.Context(), func(ctx context.Context, ended func(error)) { ended(op.afterServing(ctx, reason)) }, func(err error) { ended <- err })
				err := <-ended
				if took := time.Since(began); took != 5*time.Second || !errors.Is(err, ErrExitTimeout) || errors.Is(err, lost) != errors.Is(reason, lost) {
					t.Errorf("%v after %v", err, took)
				}
				<-op.Gone()
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("a handler has run for %v", took)
				}
			})
		})
	}
}

func TestExitTimeoutBySettings(t *testing.T) {
	for _, tt := range []struct {
		value string
		work  time.Duration
		stuck bool
	}{{"5", time.Hour, true}, {"5", 4 * time.Second, false}, {"null", time.Hour, false}} {
		synctest.Test(t, func(t *testing.T) {
			op := configured(t, map[string]string{"process.ultimate_exiting_timeout": tt.value})
			op.exiting.Store(int64(op.Settings.Process.UltimateExitingTimeout))
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(10*time.Second, cancel)
			over, ended := make(chan struct{}), make(chan error, 2)
			op.unlessStuck(ctx, func(ctx context.Context, ended func(error)) {
				defer close(over)
				<-ctx.Done()
				time.Sleep(tt.work)
				ended(nil)
			}, func(err error) { ended <- err })
			if err := <-ended; errors.Is(err, ErrExitTimeout) != tt.stuck {
				t.Errorf("%s: %v after %v of work at the exit", tt.value, err, tt.work)
			}
			<-over
			synctest.Wait()
			if len(ended) > 0 {
				t.Errorf("%s: it has ended twice", tt.value)
			}
		})
	}
}
