package ready

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// newProber serves the handler over TLS and returns a prober for it.
func newProber(t *testing.T, handler http.HandlerFunc) *Prober {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	prober, err := New(server.URL, ca, "secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(prober.Close)
	return prober
}

func TestAPIServerWaits(t *testing.T) {
	var looks atomic.Int32
	prober := newProber(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("unexpected request: %s %s", r.URL.Path, r.Header)
		}
		if looks.Add(1) < 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	if err := prober.APIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := looks.Load(); got != 3 {
		t.Errorf("got %d looks, want 3", got)
	}
}

func TestControllers(t *testing.T) {
	const orphan = "/api/v1/namespaces/default/configmaps/orphan"
	var accountLooks, orphanLooks atomic.Int32
	prober := newProber(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path {
		case "GET /api/v1/namespaces/default/serviceaccounts/default":
			if accountLooks.Add(1) < 2 {
				w.WriteHeader(http.StatusNotFound)
			}
		case "POST /api/v1/namespaces/default/configmaps":
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(`{"metadata":{"name":"orphan"}}`))
		case "GET " + orphan:
			if orphanLooks.Add(1) == 3 {
				w.WriteHeader(http.StatusNotFound)
			}
		default:
			t.Errorf("unexpected request: %s %s", r.Method, r.URL.Path)
		}
	})
	if err := prober.Controllers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if accountLooks.Load() != 2 || orphanLooks.Load() != 3 {
		t.Errorf("got %d and %d looks, want 2 and 3", accountLooks.Load(), orphanLooks.Load())
	}
}

func TestGivesUpWithReasons(t *testing.T) {
	late := errors.New("too late")
	prober := newProber(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	})
	tests := []struct {
		name string
		wait func(context.Context) error
		want string
	}{
		{"API server", prober.APIServer, "not ready"},
		{"controllers", prober.Controllers, "no service accounts"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 2*interval, late)
			defer cancel()
			err := tt.wait(ctx)
			if !errors.Is(err, late) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want the cause and %q", err, tt.want)
			}
		})
	}
}

func TestForeignServerIsNotTrusted(t *testing.T) {
	one := newProber(t, func(http.ResponseWriter, *http.Request) {})
	_, err := New(one.server, []byte("no certificate"), "")
	if err == nil {
		t.Error("New without an authority: got no error")
	}
	one.client = &http.Client{Timeout: time.Second} // knows only the system's authorities
	ctx, cancel := context.WithTimeout(t.Context(), 2*interval)
	defer cancel()
	if err := one.APIServer(ctx); err == nil {
		t.Error("certificate of an unknown authority: got no error")
	}
}
