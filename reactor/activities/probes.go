package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/conns"
)

// probingAge is how long results of probes are reused.
const probingAge = 10 * time.Second

// prober answers the liveness probes of Kubernetes with the results of the probe handlers,
// by handler id. An answer means that the operator is alive.
//
// Kopf: kopf._core.engines.probing (v1.45); https://docs.kopf.dev/en/latest/probing/
type prober struct {
	run  func(ctx context.Context) (*Result, error)
	path string
	log  func(message string)

	busy    chan struct{} // held while the probes run or their results are read; capacity 1
	results map[string]any
	when    time.Time
}

// Liveness opens the endpoint of the probes, whose handlers run calls. It returns a
// function that serves the endpoint until the context ends. The URL has the form
// http://host:port/path.
func Liveness(endpoint string, run func(ctx context.Context) (*Result, error), log zerolog.Logger) (serve func(ctx context.Context), err error) {
	parts, err := url.Parse(endpoint)
	if err != nil || parts.Scheme != "http" {
		return nil, fmt.Errorf("liveness endpoint %q: want a URL like http://0.0.0.0:8080/healthz", endpoint)
	}
	host, port := parts.Hostname(), parts.Port()
	if host == "" {
		host = "localhost"
	}
	if port == "" {
		port = "80"
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("liveness endpoint %q: %w", endpoint, err)
	}
	p := &prober{
		run: run, path: cmp.Or(parts.Path, "/"), busy: make(chan struct{}, 1),
		log: func(message string) { log.Error().Msg(message) },
	}
	server := conns.Server(p)
	listener = conns.New(conns.Small).Listener(listener)
	return func(ctx context.Context) {
		context.AfterFunc(ctx, func() { _ = server.Close() }) // the listener may be closed already
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.log(fmt.Sprintf("The liveness endpoint has failed: %v", err))
		}
	}, nil
}

// ServeHTTP answers one probe: 200 with the results, or 500 if a handler has failed.
func (p *prober) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != p.path:
		plain(w, http.StatusNotFound, "404: Not Found")
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		plain(w, http.StatusMethodNotAllowed, "405: Method Not Allowed")
		return
	}
	results, err := p.collect(r.Context())
	if err != nil {
		plain(w, http.StatusInternalServerError, "500 Internal Server Error\n\nServer got itself in trouble")
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(results) // the client may be gone
}

// collect runs the probes unless their last results are still fresh. Failures are not
// kept.
func (p *prober) collect(ctx context.Context) (map[string]any, error) {
	select {
	case p.busy <- struct{}{}:
		defer func() { <-p.busy }()
		running := conns.Begin(ctx) // waiting probes, however many, do not evict the connection of the running one
		running.Run()
		defer running.End()
	case <-ctx.Done():
		return nil, ctx.Err() // the client is gone
	}
	if p.results != nil && time.Since(p.when) < probingAge {
		return p.results, nil
	}
	done, err := p.run(ctx)
	if err != nil {
		p.log(fmt.Sprintf("Probing has failed: %v", err))
		return nil, err
	}
	p.results, p.when = done.Results, time.Now()
	return p.results, nil
}

func plain(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text)) // the client may be gone
}
