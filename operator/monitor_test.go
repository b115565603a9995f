package operator

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor"
	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/watching"
	"github.com/kopf-wasm/kopf/test/porttest"
)

// still is an operator that does not change.
type still struct {
	streams []watching.State
	counts  reactor.Counts
}

var _ observed = still{}

// secured is one with a certificate.
type secured struct {
	still
	expires time.Time
}

func (s secured) Expires() (time.Time, bool) { return s.expires, true }

func (s still) Streams() []watching.State  { return s.streams }
func (s still) Counts() reactor.Counts     { return s.counts }
func (s still) Accounts() []accounts.Usage { return accounts.New(accounts.Limits{}).Usage() }

func (s still) Backlogs() []reactor.Backlog { return nil }
func (s still) Meters() *meters.Operator    { return &meters.Operator{} }
func (s still) Expires() (time.Time, bool)  { return time.Time{}, false }

func none() []*host.Module { return nil }

// together is what the modules of an operator share, unused.
var together = shared{host.NewOutputBucket(0), host.NewShare(0, 0), host.NewMemoryPool(0), nil}

func TestEndpoints(t *testing.T) {
	now := time.Now()
	named := func(s watching.State) watching.State {
		s.Resource, s.Namespace = "kopfexamples.v1.kopf.dev", "ns"
		return s
	}
	healthy := named(watching.State{Purpose: watching.ForHandlers, Health: watching.Health{Phase: watching.Watching, Synced: true, Event: time.Unix(1234, 0), Events: 7}})
	stalled := named(watching.State{Health: watching.Health{Phase: watching.Watching, Synced: true, Deadline: now.Add(-time.Hour)}})
	listing := named(watching.State{Health: watching.Health{Phase: watching.Listing}})
	failing := named(watching.State{Health: watching.Health{Phase: watching.Resting, Error: "boo"}})
	refused := named(watching.State{Health: watching.Health{Phase: watching.Listing, Error: "boo", Forbidden: true}})
	missing := named(watching.State{Health: watching.Health{Phase: watching.Watching, Synced: true, Error: "404", Missing: true}})
	lost := named(watching.State{Health: watching.Health{Phase: watching.Watching, Synced: true, Broken: now.Add(-time.Minute)}})
	dead := named(watching.State{Dead: true})
	paused := stalled
	paused.Paused = true
	up := reactor.Counts{Ready: true, Objects: 5}
	tests := []struct {
		name         string
		counts       reactor.Counts
		streams      []watching.State
		livez, ready int
		says         string
	}{
		{"healthy", up, []watching.State{healthy}, 200, 200, "ok"},
		{"without streams", up, nil, 200, 200, "ok"},
		{"starting", reactor.Counts{}, nil, 200, 503, "the operator is starting or exiting"},
		{"one of two has stalled", up, []watching.State{healthy, stalled}, 503, 503, "kopfexamples.v1.kopf.dev in ns: the stream has stalled while watching, since"},
		{"dead", up, []watching.State{dead}, 503, 503, "the stream is dead"},
		{"listing", up, []watching.State{listing}, 200, 503, "listing, without a connection or before the end of the listing"},
		{"failing", up, []watching.State{failing}, 200, 503, "resting, after: boo"},
		{"refused", up, []watching.State{refused}, 200, 503, "kopfexamples.v1.kopf.dev in ns: the account needs the verbs list and watch: boo"},
		{"missing", up, []watching.State{missing}, 200, 503, "the API server does not have this resource; create its CustomResourceDefinition"},
		{"without a connection", up, []watching.State{lost}, 200, 503, "watching, without a connection"},
		{"paused", up, []watching.State{paused}, 200, 200, "ok"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			handler := monitoring(still{tt.streams, tt.counts}, none, together)
			if code, _ := get(handler, "/livez"); code != tt.livez {
				t.Errorf("/livez answers %d, want %d", code, tt.livez)
			}
			if code, text := get(handler, "/readyz"); code != tt.ready || !strings.Contains(text, tt.says) {
				t.Errorf("/readyz answers %d, %s; want %d, %s", code, text, tt.ready, tt.says)
			}
		})
	}
	peers, successor := healthy, healthy
	peers.Purpose = watching.ForPeers
	code, text := get(monitoring(still{[]watching.State{healthy, successor, peers}, up}, none, together), "/metrics")
	for _, want := range []string{
		`kopf_stream_last_event_timestamp_seconds{namespace="ns",purpose="handlers",resource="kopfexamples.v1.kopf.dev"} 1234`,
		`kopf_stream_events_total{namespace="ns",purpose="handlers",resource="kopfexamples.v1.kopf.dev"} 7`, `kopf_stream_events_total{namespace="ns",purpose="peers",resource="kopfexamples.v1.kopf.dev"} 7`,
		`kopf_stream_up{namespace="ns",purpose="handlers",resource="kopfexamples.v1.kopf.dev"} 1`, `kopf_objects 5`, `kopf_daemons 0`, `kopf_index_entries 0`, `kopf_paused 0`, `kopf_dropped_lines_total 0`, `kopf_held_bytes{kind="memos"} 0`, `kopf_held_limit_bytes{kind="indices"} 1.073741824e+09`, `kopf_held_refusals_total{kind="answers"} 0`, "process_resident_memory_bytes", "go_goroutines",
	} {
		if code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("/metrics answers %d without %s", code, want)
		}
	}
	for _, tt := range []struct {
		expires time.Time
		code    int
		text    string
	}{{now.Add(time.Hour), 200, "ok"}, {now.Add(-time.Hour), 503, "the certificate of the webhook server has expired at "}} {
		handler := monitoring(secured{still{nil, up}, tt.expires}, none, together)
		if code, text := get(handler, "/readyz"); code != tt.code || !strings.Contains(text, tt.text) {
			t.Errorf("with a certificate, /readyz answers %d, %s; want %d, %s", code, text, tt.code, tt.text)
		}
		if _, text := get(handler, "/metrics"); !strings.Contains(text, "kopf_webhook_certificate_expiry_timestamp_seconds 1.") {
			t.Error("/metrics does not tell when the certificate expires")
		}
	}
	if code, _ := get(monitoring(still{}, none, together), "/debug/pprof/"); code != http.StatusNotFound {
		t.Errorf("another path answers %d", code)
	}
}

func get(handler http.Handler, path string) (int, string) {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

// An address that is taken is an error at the start; a closed server is gone.
func TestListening(t *testing.T) {
	address := porttest.Unused(t)
	taken, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Listen: address}
	if _, err := o.monitor(t.Context(), nil, nil, shared{}); err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("error %v does not name the address that is taken", err)
	}
	taken.Close()
	stop, err := o.monitor(t.Context(), nil, nil, shared{})
	if err != nil {
		t.Fatal(err)
	}
	rsp, err := http.Get("http://" + address + "/nothing")
	if err != nil {
		t.Fatal(err)
	}
	rsp.Body.Close()
	stop()
	if rsp, err := http.Get("http://" + address + "/livez"); err == nil {
		rsp.Body.Close()
		t.Error("it still listens")
	}
}

// TestSilentClientsOfEndpoints do not keep probes and metrics from being served.
func TestSilentClientsOfEndpoints(t *testing.T) {
	address := porttest.Unused(t)
	stop, err := Options{Listen: address}.monitor(t.Context(), still{counts: reactor.Counts{Ready: true}}, none, together)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	var silent []net.Conn
	for range 300 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		silent = append(silent, conn)
	}
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		rsp, err := client.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		rsp.Body.Close()
		if rsp.StatusCode != http.StatusOK {
			t.Errorf("%s answers %d", path, rsp.StatusCode)
		}
	}
	if err := silent[0].SetReadDeadline(time.Now().Add(4 * time.Second)); err != nil { // before any timeout of the server
		t.Fatal(err)
	}
	var late net.Error
	if _, err := silent[0].Read(make([]byte, 1)); errors.As(err, &late) && late.Timeout() {
		t.Error("the oldest silent client has not made room")
	}
}
