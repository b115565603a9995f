package operator

import (
	"context"
	"encoding/base64"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/metricstest"
	"github.com/kopf-wasm/kopf/operator/apiserver"
	"github.com/kopf-wasm/kopf/operator/guesttest"
	"github.com/kopf-wasm/kopf/operator/traces"
	"github.com/kopf-wasm/kopf/reactor"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// hostileID is the id of a handler that would forge a metric.
const hostileID = "a\"} 1\nkopf_forged 1\n\u202e\x00"

// hostileName is the name of a module as a file system allows it.
const hostileName = "m\xff\nkopf_forged 1.wasm"

// secret is the name of an object, which no metric has.
const secret = "very-secret-name"

// measuredGuest has handlers of all ends.
func measuredGuest() *guesttest.Guest {
	return &guesttest.Guest{
		Handlers: []abi.Handler{
			guesttest.Declared(abi.KindCreate, "create_fn", ""), guesttest.Declared(abi.KindUpdate, "create_fn", ""), guesttest.Declared(abi.KindCreate, "retried_fn", ""), guesttest.Declared(abi.KindCreate, "failing_fn", ""),
			guesttest.Declared(abi.KindEvent, hostileID, ""), guesttest.Declared(abi.KindDaemon, "daemon_fn", ""), guesttest.Declared(abi.KindTimer, "timer_fn", `{"interval":0.1}`),
			guesttest.Declared(abi.KindIndex, "index_fn", ""), guesttest.Declared(abi.KindStartup, "startup_fn", ""),
		},
		Do: map[string]guesttest.Handler{
			"retried_fn": func(c *guesttest.Call, _ *abi.Answer) *abi.Step {
				if c.Count == 1 {
					return guesttest.Temporary("not yet", 0.01)
				}
				return guesttest.Done(abi.Outcome{})
			},
			"failing_fn": func(*guesttest.Call, *abi.Answer) *abi.Step { return guesttest.Permanent("never") },
			"daemon_fn": func(_ *guesttest.Call, answer *abi.Answer) *abi.Step {
				if answer == nil {
					return guesttest.Wait(3600)
				}
				return guesttest.Done(abi.Outcome{})
			},
		},
	}
}

// inMemory are the options of an operator on a cluster in memory.
func inMemory(server http.RoundTripper, o Options) Options {
	o.Settings = settings.Default()
	o.Settings.Peering.Standalone = true
	o.Namespaces, o.Log, o.AllowOverlap = []string{"default"}, zerolog.Nop(), true
	o.Login = func(context.Context) (*credentials.Info, error) {
		return &credentials.Info{Config: &rest.Config{Host: "http://cluster.test", Transport: server, QPS: -1}}, nil
	}
	return o
}

// withEverything is an operator with a certificate for webhooks, whose replicas share the objects.
type withEverything struct{ *reactor.Operator }

func (withEverything) Expires() (time.Time, bool) { return time.Now(), true }

// Counts returns the counts of the operator, and a share: a replica that has one begins to work
// after a lease duration, which is too long here.
func (o withEverything) Counts() reactor.Counts {
	counts := o.Operator.Counts()
	counts.Share = &reactor.Share{Members: 1}
	return counts
}

// measuredMetrics runs an operator with a leader, a module and a guest until its handlers have
// handled an object, and returns its metrics.
func measuredMetrics(t *testing.T) string {
	t.Helper()
	object := dicts.Object{"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": dicts.Object{"name": secret}, "spec": dicts.Object{"field": "value"}}
	server := apiserver.New([]apiserver.Resource{apiserver.Guessed(object)})
	lease := dicts.Object{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": dicts.Object{"name": "measured", "namespace": "default"}}
	for _, o := range []dicts.Object{object, lease} {
		if err := server.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	module, err := base64.StdEncoding.DecodeString(talker)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer collector.Close()
	exporter := traces.New(ctx, traces.Target{URL: collector.URL}, "measured", "", zerolog.Nop())
	op, err := New(ctx, inMemory(server, Options{
		Tracer:  exporter,
		Modules: []string{"module.wasm"}, Guests: []guests.Guest{measuredGuest()}, Replicas: Replicas{Leader: true, Lease: "default/measured"},
		Open: func(context.Context, string) (string, []byte, error) { return hostileName, module, nil },
		Host: host.Options{CacheDir: t.TempDir()},
	}))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- op.Run(ctx) }() // Waited for below.
	handler := monitoring(withEverything{op.reactor}, op.Modules, shared{op.options.Host.Output, op.options.Host.Share, op.options.Host.Memories, op.options.Tracer})
	for done := false; !done; {
		select {
		case <-ctx.Done():
			_, text := get(handler, "/metrics")
			t.Fatalf("the operator has not handled the object:\n%s", text)
		case <-time.After(10 * time.Millisecond):
		}
		calls := map[string]uint64{}
		for _, c := range op.reactor.Meters().Handlers.Read() {
			for _, n := range c.Ended {
				calls[c.Handler] += n
			}
			if c.Reason == "daemon" {
				calls[c.Handler] += uint64(c.Running) //nolint:gosec // a count
			}
		}
		done = calls["create_fn"] > 0 && calls["retried_fn"] > 1 && calls["failing_fn"] > 0 && calls["daemon_fn"] > 0 && calls["timer_fn"] > 1 && calls["index_fn"] > 0
	}
	_, text := get(handler, "/metrics")
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := exporter.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return text
}

// TestMetricsAreThoseOfTheManual: the manual, the dashboard and the alert rules have the metrics
// of a running operator, with their labels; and guests and objects forge none.
func TestMetricsAreThoseOfTheManual(t *testing.T) {
	text := measuredMetrics(t)
	found := metricstest.Parse(t, text)
	manual, _ := metricstest.Sections(t, "../docs/monitoring.md", "## Metrics of a serving host")
	if diff := cmp.Diff(metricstest.Documented(t, manual), found); diff != "" {
		t.Errorf("docs/monitoring.md (-) and the metrics (+) differ:\n%s", diff)
	}
	for _, file := range []string{"dashboard-run.json", "alerts-run.yaml"} {
		for _, name := range metricstest.Used(t, "../charts/kopf/files/"+file, found) {
			if _, ok := found[name]; !ok {
				t.Errorf("%s has the metric %s, which does not exist; there are %s", file, name, strings.Join(slices.Sorted(maps.Keys(found)), ", "))
			}
		}
	}
	for _, want := range []string{
		`kopf_handler_calls_total{handler="retried_fn",outcome="temporary",reason="create"} 1`, `kopf_handler_calls_total{handler="retried_fn",outcome="succeeded",reason="create"} 1`,
		`kopf_handler_retries_total{handler="retried_fn",reason="create"} 1`, `kopf_handler_calls_total{handler="failing_fn",outcome="failed",reason="create"} 1`,
		`kopf_handler_calls_total{handler="startup_fn",outcome="succeeded",reason="startup"} 1`, `kopf_handler_duration_seconds_bucket{handler="create_fn",reason="create",le="+Inf"} 1`,
		`kopf_handler_running{handler="daemon_fn",reason="daemon"} 1`, `kopf_handler_daemons{handler="timer_fn",reason="timer"} 1`, `kopf_leader 1`,
		`kopf_module_calls_total{module="m\\xff\\nkopf_forged 1.wasm"} `,
		`kopf_queue_events{namespace="default",resource="kopfexamples.v1.kopf.dev"} `, `kopf_api_requests_total{code="200",method="PATCH"} `,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	for _, bad := range []string{"\nkopf_forged", secret, "\u202e"} {
		if strings.Contains(text, bad) {
			t.Errorf("there is %q in\n%s", bad, text)
		}
	}
}
