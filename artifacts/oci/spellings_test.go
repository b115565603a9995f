package oci_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/ocitest"
	"github.com/kopf-wasm/kopf/artifacts/oci/sources"
)

// forbidden is a service of the machine that no registry may lead connections to. It counts them.
func forbidden(t *testing.T) (port string, connections *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("this system has no second address: %v", err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	connections = &atomic.Int64{}
	go func() { // Until the listener is closed.
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			_ = conn.Close()
		}
	}()
	_, port, err = net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port, connections
}

// TestSpellingsOfHostsAreControlled: however a registry spells the host of a redirect or of a token service, its
// address is controlled before the connection. Only the proxy that the administrator has chosen is not.
func TestSpellingsOfHostsAreControlled(t *testing.T) {
	refused := errors.New("refused")
	for spelling, host := range map[string]string{
		"plain":            "127.0.0.2:%s",
		"wide digits":      "１２７.0.0.2:%s",
		"other full stops": "127。0。0。2:%s",
		"a dot at the end": "127.0.0.2.:%s",
		"IPv6 and no port": "[::1]",
	} {
		for name, lead := range map[string]func(w http.ResponseWriter, req *http.Request, to string){
			"a layer": func(w http.ResponseWriter, _ *http.Request, to string) {
				w.Header().Set("Location", to)
				w.WriteHeader(http.StatusTemporaryRedirect)
			},
			"a token": func(w http.ResponseWriter, _ *http.Request, to string) {
				w.Header().Set("WWW-Authenticate", `Bearer realm="`+to+`",service="x"`)
				w.WriteHeader(http.StatusUnauthorized)
			},
		} {
			t.Run(spelling+", "+name, func(t *testing.T) {
				port, connections := forbidden(t)
				host := host
				if strings.Contains(host, "%s") {
					host = fmt.Sprintf(host, port)
				}
				r := ocitest.New(t)
				r.Pack(t, "v1", module)
				r.Override(func(w http.ResponseWriter, req *http.Request) {
					if strings.HasSuffix(req.URL.Path, layout.Digest(module)) {
						lead(w, req, "https://"+host+"/x")
					}
				})
				err := fetch(t, oci.New(oci.Options{Configs: [][]byte{}, Control: func(_ string, a netip.Addr) error {
					if a == netip.MustParseAddr("127.0.0.1") { // the registry
						return nil
					}
					return refused
				}}), r.Ref("v1"))
				if n := connections.Load(); err == nil || n > 0 {
					t.Errorf("%d connections; error %v", n, err)
				}
				isResolved := !strings.Contains(err.Error(), "no such host") && !errors.Is(err, syscall.EAFNOSUPPORT)
				if isByLibrary := strings.Contains(err.Error(), "bearer realm"); isResolved && !isByLibrary && !errors.Is(err, refused) {
					t.Errorf("nobody asked about the address: %v", err)
				}
			})
		}
	}
}

// TestProxiesAreNotControlled: the administrator has chosen their addresses.
func TestProxiesAreNotControlled(t *testing.T) {
	port, connections := forbidden(t)
	proxied, err := sources.Parse(fmt.Appendf(nil, "proxies: {https_proxy: 'http://127.0.0.2:%s'}", port))
	if err != nil {
		t.Fatal(err)
	}
	client := oci.New(oci.Options{Configs: [][]byte{}, Sources: proxied, Control: func(_ string, a netip.Addr) error {
		return fmt.Errorf("asked about %s", a)
	}})
	err = fetch(t, client, oci.Reference{Registry: "registry.example.com", Repository: ocitest.Repository, Tag: "v1"})
	if n := connections.Load(); n == 0 || err == nil || strings.Contains(err.Error(), "asked about") {
		t.Errorf("%d connections to the proxy; error %v", n, err)
	}
}
