package calls

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/clients"
)

// TestConnectionsCountAsRequests: a server that keeps no connections lets each request take many times as long in the host.
func TestConnectionsCountAsRequests(t *testing.T) {
	for keeps, want := range map[bool]uint64{true: 0, false: 1} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if !keeps {
				w.Header().Set("Connection", "close")
			}
		}))
		defer server.Close()
		c := caller(t, Options{Grants: grantsOf(t, server.URL), Rate: clients.Rate{PerSecond: 1, Burst: 20}})
		for range 2 {
			if answer := c.Call(t.Context(), get(server.URL), "", nil); answer.Response == nil {
				t.Fatalf("%+v", answer.Error)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan abi.Answer)
		go func() { ended <- c.Call(ctx, get(server.URL), "", nil) }()
		if keeps {
			if answer := <-ended; answer.Response == nil {
				t.Errorf("%+v", answer.Error)
			}
		} else {
			for c.Delayed() == 0 { // it waits for ten seconds
				select {
				case answer := <-ended:
					t.Fatalf("it has not waited: %+v", answer)
				case <-time.After(time.Millisecond):
				}
			}
			cancel()
			<-ended
		}
		cancel()
		if got := c.Delayed(); got < want || want == 0 && got > 0 {
			t.Errorf("kept: %t: %d requests have waited", keeps, got)
		}
	}
}

// TestSmallBurstsSufficeForConnections: whatever the burst is, a connection can be made.
func TestSmallBurstsSufficeForConnections(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	c := caller(t, Options{Grants: grantsOf(t, server.URL), Rate: clients.Rate{PerSecond: 1000, Burst: 1}})
	if answer := c.Call(t.Context(), get(server.URL), "", nil); answer.Response == nil {
		t.Errorf("%+v", answer.Error)
	}
}

// TestCertificatesOfServersAreBounded: a server may send a quarter of a megabyte of them, which become megabytes for each connection.
func TestCertificatesOfServersAreBounded(t *testing.T) {
	for further, refused := range map[int]bool{maxCertificates - 1: false, maxCertificates: true} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		server.StartTLS()
		defer server.Close()
		chain := &server.TLS.Certificates[0]
		for range further {
			chain.Certificate = append(chain.Certificate, chain.Certificate[0])
		}
		roots := x509.NewCertPool()
		roots.AddCert(server.Certificate())
		asked := false
		own := func(tls.ConnectionState) error { asked = true; return nil }
		c := caller(t, Options{Grants: grantsOf(t, server.URL), TLS: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, VerifyConnection: own}})
		answer := c.Call(t.Context(), get(server.URL), "", nil)
		if (answer.Response == nil) != refused || asked == refused || refused && !strings.Contains(answer.Error.Message, "the server has sent 17 certificates") {
			t.Errorf("%d certificates: %+v", 1+further, answer.Error)
		}
	}
}
