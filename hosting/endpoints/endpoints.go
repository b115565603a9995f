package endpoints

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/facts"
	"github.com/kopf-wasm/kopf/hosting/journals"
	"github.com/kopf-wasm/kopf/internal/legible"
)

// Source is what the endpoints show. A hosting.Host is one.
type Source interface {
	Facts() []facts.Operator
	Journal(key hosting.Key) (*journals.Journal, error)
	Retry(key hosting.Key) error
	Object(key hosting.Key, uid string) (*facts.Object, error)
	IsRunning() bool
	SharedMemory() *facts.SharedMemory // nil: the memory of the process is not known
	Replicas() *facts.Replicas         // nil: the host has no others
}

var _ Source = (*hosting.Host)(nil)

// maxFollowers bounds the requests that follow logs at the same time: others must find room
// among the connections of the server.
const maxFollowers = 16

// Endpoints answer requests about a host.
type Endpoints struct {
	source  Source
	reports *reports
	metrics http.Handler

	following chan struct{} // has a token for each request that follows a log

	closing   chan struct{} // closed when streams of logs must end
	closeOnce sync.Once
}

// New creates the endpoints of a host with a version, for people.
func New(source Source, version string) *Endpoints {
	e := &Endpoints{source: source, reports: newReports(source, version), following: make(chan struct{}, maxFollowers), closing: make(chan struct{})}
	registry := prometheus.NewRegistry()
	registry.MustRegister(&collector{e.reports}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	e.metrics = promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
	return e
}

// Close ends all streams of logs. It may be called repeatedly.
func (e *Endpoints) Close() { e.closeOnce.Do(func() { close(e.closing) }) }

// Handler returns the handler of all paths. Nil access lets everybody in, and accepts only
// requests to names of the machine itself.
func (e *Endpoints) Handler(access *Access) http.Handler {
	guarded := http.NewServeMux()
	guarded.Handle("GET /metrics", e.metrics)
	guarded.HandleFunc("GET /statusz", e.statusz)
	guarded.Handle("GET /{$}", http.RedirectHandler("/statusz", http.StatusFound))
	for _, kind := range []struct {
		kind api.Kind
		path string
	}{{api.Namespaced, "/{namespace}/{name}"}, {api.Cluster, "/{name}"}} {
		path := "/" + kind.kind.Plural() + kind.path
		guarded.HandleFunc("GET "+path+"/logs", of(kind.kind, e.logs))
		guarded.HandleFunc("POST "+path+"/retry", of(kind.kind, e.retry))
		guarded.HandleFunc("GET "+path+"/object", of(kind.kind, e.object))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { probe(w, true) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { probe(w, e.source.IsRunning()) })
	if access != nil {
		mux.Handle("/", access.guard(guarded))
	} else {
		mux.Handle("/", ownMachine(guarded))
	}
	return secured(mux)
}

// secured sets the headers of all responses, and refuses requests that pages of other sites
// make.
func secured(next http.Handler) http.Handler {
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	}))
}

func probe(w http.ResponseWriter, good bool) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	text := "ok\n"
	if !good {
		w.WriteHeader(http.StatusServiceUnavailable)
		text = "the host is starting or exiting\n"
	}
	_, _ = w.Write([]byte(text)) // the client may have disconnected
}

// of gives a handler the key of the operator in the path.
func of(kind api.Kind, do func(w http.ResponseWriter, r *http.Request, key hosting.Key)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		do(w, r, hosting.Key{Kind: kind, Namespace: r.PathValue("namespace"), Name: r.PathValue("name")})
	}
}

// statusz shows the report: as a page for browsers, and otherwise as JSON.
func (e *Endpoints) statusz(w http.ResponseWriter, r *http.Request) {
	report := e.reports.latest()
	format := r.URL.Query().Get("format")
	if format == "" && strings.Contains(r.Header.Get("Accept"), "text/html") {
		format = "html"
	}
	switch format {
	case "html":
		showPage(w, report, r.URL.Query())
	case "", "json":
		w.Header().Set("Content-Type", "application/json")
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		_ = encoder.Encode(report) // the client may have disconnected
	default:
		refuse(w, http.StatusBadRequest, fmt.Errorf("the format %.20q: want html or json", format))
	}
}

// retry tries a failed operator again.
func (e *Endpoints) retry(w http.ResponseWriter, _ *http.Request, key hosting.Key) {
	if err := e.source.Retry(key); err != nil {
		refuse(w, statusOf(err), err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// maxUID bounds the uid of an object in a request: uids of the API server have 36 bytes.
const maxUID = 128

var errNoUID = errors.New("name one object by its uid: ?uid=UID")

// object says what an operator does for one object. The uid is in the query, so that one decision
// about access is for all objects of an operator.
func (e *Endpoints) object(w http.ResponseWriter, r *http.Request, key hosting.Key) {
	uid := r.URL.Query().Get("uid")
	if uid == "" || len(uid) > maxUID {
		refuse(w, http.StatusBadRequest, errNoUID)
		return
	}
	found, err := e.source.Object(key, uid)
	if err != nil {
		refuse(w, statusOf(err), err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(found) // the client may have disconnected
}

func statusOf(err error) int {
	if errors.Is(err, hosting.ErrUnknown) {
		return http.StatusNotFound
	}
	return http.StatusInternalServerError
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, code int, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = fmt.Fprintln(w, legible.Short(err.Error(), facts.MaxText)) // the client may have disconnected
}
