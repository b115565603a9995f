package scenarios

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/apiserver/admission"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/webhooks"
)

// managed is the name of the webhook configurations, with which the names of webhooks end.
const managed = "kopf.test"

// doors are where the simulated API server reaches the webhooks of the operator: the operator
// serves them without a network, and registers them in the simulated cluster alone.
type doors struct {
	registered *admission.Webhooks

	mu      sync.Mutex   // guards handler
	handler http.Handler // of the operator; nil: it does not serve
}

func newDoors() *doors {
	d := &doors{}
	d.registered = admission.New(d.post)
	return d
}

// admission are the options of an operator behind the doors. Operators without handlers for
// admission have no server.
func (d *doors) admission() operator.Admission {
	return operator.Admission{Custom: d, Managed: managed, Tenancy: &operator.Tenancy{Registrar: d, Definer: d}}
}

// Serve implements webhooks.Server.
func (d *doors) Serve(ctx context.Context, handler http.Handler, announce func(webhooks.ClientConfig)) error {
	d.set(handler)
	defer d.set(nil)
	announce(webhooks.ClientConfig{URL: new("https://operator.test")})
	<-ctx.Done()
	return nil
}

func (d *doors) set(handler http.Handler) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handler = handler
}

var errRefused = errors.New("dial tcp: connection refused: the operator does not serve")

// post sends a review to the operator.
func (d *doors) post(ctx context.Context, url string, review []byte) (int, []byte, error) {
	d.mu.Lock()
	handler := d.handler
	d.mu.Unlock()
	if handler == nil {
		return 0, nil, errRefused
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(review))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	response := &response{header: http.Header{}}
	handler.ServeHTTP(response, r)
	return response.status, response.body.Bytes(), nil
}

// response is a response without a connection.
type response struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *response) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *response) WriteHeader(status int) { r.status = status }

// Write implements http.ResponseWriter.
func (r *response) Write(p []byte) (int, error) { return r.body.Write(p) }

// Get implements webhooks.Cluster. The simulated cluster has no secrets of webhooks.
func (*doors) Get(context.Context, apipath.Path) ([]byte, error) {
	return nil, errors.New("the simulated cluster keeps no certificates")
}

// Create implements webhooks.Cluster: the configurations exist.
func (*doors) Create(context.Context, apipath.Path, []byte) error { return nil }

// Patch implements webhooks.Cluster. It takes the webhooks of configurations. Definitions of
// conversions are ignored, as nothing is converted.
func (d *doors) Patch(_ context.Context, path apipath.Path, mergePatch []byte) error {
	switch {
	case strings.Contains(string(path), "/"+webhooks.Mutating+"/"):
		return d.registered.SetMutating(mergePatch)
	case strings.Contains(string(path), "/"+webhooks.Validating+"/"):
		return d.registered.SetValidating(mergePatch)
	}
	return nil
}
