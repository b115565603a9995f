package operator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor"
	"github.com/kopf-wasm/kopf/reactor/conns"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// monitor opens the monitoring endpoints of an operator, if Options.Listen is set. The
// returned function closes them.
func (o Options) monitor(ctx context.Context, op observed, modules func() []*host.Module, together shared) (stop func(), err error) {
	if o.Listen == "" {
		return func() {}, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("the endpoints for monitoring: %w", err)
	}
	server := conns.Server(monitoring(op, modules, together))
	listener = conns.New(conns.Small).Listener(listener)
	var serving sync.WaitGroup
	serving.Go(func() { // Waited for by the returned function.
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error().Str(loggers.Field, "kopf.monitoring").Err(err).Msg("the endpoints for monitoring have failed")
		}
	})
	return func() {
		_ = server.Close() // its listener may be closed already
		serving.Wait()
	}, nil
}

// observed is the part of an operator that the endpoints read.
type observed interface {
	Streams() []watching.State
	Counts() reactor.Counts
	Accounts() []accounts.Usage
	Backlogs() []reactor.Backlog
	Meters() *meters.Operator

	// Expires is the time at which the certificate of the webhook server expires; false without one.
	Expires() (time.Time, bool)
}

// monitored is an operator together with its certificate.
type monitored struct {
	*reactor.Operator
	*certificate
}

var _ observed = monitored{}

func monitoring(op observed, modules func() []*host.Module, together shared) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		&metrics{op, modules, together},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { report(w, liveProblems(op)) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { report(w, readyProblems(op)) })
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	return mux
}

// liveProblems lists the streams that only a restart of the process can repair.
func liveProblems(op observed) []string {
	var problems []string
	now := time.Now()
	for _, s := range op.Streams() {
		if s.Broken(now) {
			problems = append(problems, describe(s, now))
		}
	}
	return problems
}

// readyProblems lists the streams that deliver nothing now, for any reason.
func readyProblems(op observed) []string {
	if !op.Counts().Ready {
		return []string{"the operator is starting or exiting"}
	}
	var problems []string
	now := time.Now()
	if expires, known := op.Expires(); known && now.After(expires) {
		problems = append(problems, "the certificate of the webhook server has expired at "+expires.UTC().Format(time.RFC3339))
	}
	for _, s := range op.Streams() {
		if !s.Delivering(now) {
			problems = append(problems, describe(s, now))
		}
	}
	return problems
}

func describe(s watching.State, now time.Time) string {
	name := s.Resource
	if s.Namespace != "" {
		name += " in " + s.Namespace
	}
	switch {
	case s.Dead:
		return name + ": the stream is dead"
	case s.Stalled(now):
		return fmt.Sprintf("%s: the stream has stalled while %s, since %s", name, s.Phase, s.Deadline.UTC().Format(time.RFC3339))
	case s.Forbidden:
		return fmt.Sprintf("%s: the account needs the verbs list and watch: %s", name, s.Error)
	case s.Missing:
		return fmt.Sprintf("%s: the API server does not have this resource; create its CustomResourceDefinition", name)
	case s.Error != "":
		return fmt.Sprintf("%s: %s, after: %s", name, s.Phase, s.Error)
	}
	return fmt.Sprintf("%s: %s, without a connection or before the end of the listing", name, s.Phase)
}

// report answers in the form of the Kubernetes health endpoints.
func report(w http.ResponseWriter, problems []string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	text := "ok\n"
	if len(problems) > 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		text = strings.Join(problems, "\n") + "\n"
	}
	_, _ = w.Write([]byte(text)) // the client may have disconnected
}
