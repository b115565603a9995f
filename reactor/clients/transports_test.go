package clients

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// counted is a server over TLS that notes who asks, and over how many connections.
func counted(t *testing.T) (config *rest.Config, asked func() (connections int, by []string)) {
	t.Helper()
	var mu sync.Mutex
	connections, by := 0, []string(nil)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		by = append(by, r.Header.Get("Authorization")+r.Header.Get("Impersonate-User")+" "+r.UserAgent())
		fmt.Fprint(w, "{}")
	}))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if state == http.StateNew {
			connections++
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: authority}}, func() (int, []string) {
		mu.Lock()
		defer mu.Unlock()
		return connections, slices.Clone(by)
	}
}

// Clients of one server share connections, and each request has the identity of its client.
func TestClientsShareConnections(t *testing.T) {
	config, asked := counted(t)
	var want []string
	for i := range 10 {
		own := rest.CopyConfig(config)
		if i%2 == 0 {
			own.BearerToken = fmt.Sprint("token", i)
			want = append(want, fmt.Sprintf("Bearer token%d agent%d", i, i))
		} else {
			own.Impersonate.UserName = fmt.Sprint("user", i)
			want = append(want, fmt.Sprintf("user%d agent%d", i, i))
		}
		c := New(credentials.Of(credentials.Info{Config: own}), func() Options { return Options{RequestTimeout: time.Minute, UserAgent: fmt.Sprint("agent", i)} }, func(string) {})
		if _, err := c.Get(t.Context(), "/x", nil); err != nil {
			t.Fatal(err)
		}
	}
	connections, by := asked()
	if connections != 1 {
		t.Errorf("%d connections, want 1", connections)
	}
	if !slices.Equal(by, want) {
		t.Errorf("requests by %q, want %q", by, want)
	}
}

// Clients that connect in different ways, or in a way that cannot be compared, share nothing.
func TestWaysOfConnecting(t *testing.T) {
	plain := func() *rest.Config { return &rest.Config{Host: "https://server"} }
	first, ok := wayOf(plain(), time.Second, Options{}, nil)
	if !ok {
		t.Fatal("a plain configuration is not shared")
	}
	for name, change := range map[string]func(c *rest.Config, o *Options) time.Duration{
		"the server":        func(c *rest.Config, _ *Options) time.Duration { c.Host = "https://other"; return time.Second },
		"the server's name": func(c *rest.Config, _ *Options) time.Duration { c.ServerName = "other"; return time.Second },
		"the authority":     func(c *rest.Config, _ *Options) time.Duration { c.CAData = []byte("x"); return time.Second },
		"the certificate":   func(c *rest.Config, _ *Options) time.Duration { c.CertData = []byte("x"); return time.Second },
		"the key":           func(c *rest.Config, _ *Options) time.Duration { c.KeyData = []byte("x"); return time.Second },
		"no verification":   func(c *rest.Config, _ *Options) time.Duration { c.Insecure = true; return time.Second },
		"the timeout":       func(*rest.Config, *Options) time.Duration { return time.Minute },
		"the environment":   func(_ *rest.Config, o *Options) time.Duration { o.TrustEnv = true; return time.Second },
	} {
		c, o := plain(), Options{}
		timeout := change(c, &o)
		if w, ok := wayOf(c, timeout, o, nil); !ok || w == first {
			t.Errorf("%s makes no difference, or cannot be shared: %t", name, ok)
		}
	}
	if w, _ := wayOf(plain(), time.Second, Options{}, []string{"http/1.1"}); w == first {
		t.Error("the protocol makes no difference")
	}
	for name, change := range map[string]func(c *rest.Config){
		"a proxy":     func(c *rest.Config) { c.Proxy = http.ProxyURL(&url.URL{}) },
		"a transport": func(c *rest.Config) { c.Transport = http.DefaultTransport },
		"a dialer":    func(c *rest.Config) { c.Dial = (&net.Dialer{}).DialContext },
		"a missing file": func(c *rest.Config) {
			c.CAFile = "/no/such/file"
		},
	} {
		c := plain()
		change(c)
		if _, ok := wayOf(c, time.Second, Options{}, nil); ok {
			t.Errorf("%s is shared", name)
		}
	}
	token := plain()
	token.BearerToken = "x"
	if w, _ := wayOf(token, time.Second, Options{}, nil); w != first {
		t.Error("a token needs a connection of its own")
	}
}
