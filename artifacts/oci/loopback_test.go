package oci

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/artifacts/oci/sources"
)

// A name of this machine that stands for another one is not connected to, with TLS or without.
func TestLoopbackNameOfAnotherMachine(t *testing.T) {
	for _, host := range []string{"localhost", "localhost:5000", "127.0.0.1:5000", "[::1]:5000"} {
		_, err := newTransport(nil, time.Second).of(host, false).DialContext(t.Context(), "tcp", "192.0.2.1:5000")
		if err == nil || !strings.Contains(err.Error(), hostname(host)+" resolves to 192.0.2.1, which is not this machine") {
			t.Errorf("%s: error %v", host, err)
		}
	}
}

// A listed registry without a trusted certificate is still reached after so many other hosts that
// its connection was forgotten.
func TestUntrustedRegistryAmongManyHosts(t *testing.T) {
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	host := strings.TrimPrefix(secure.URL, "https://")
	s, err := sources.Parse(fmt.Appendf(nil, "insecure_sources: [%q]", host))
	if err != nil {
		t.Fatal(err)
	}
	all := newTransport(s, time.Minute)
	defer all.close()
	for range 2 {
		plain, err := all.plain(t.Context(), host)
		if err != nil || plain {
			t.Fatalf("without TLS: %t, error %v", plain, err)
		}
		client := http.Client{Transport: all.of(host, false)}
		resp, err := client.Get(secure.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		for i := range maxHosts {
			all.of(fmt.Sprintf("host%d.example.com", i), false)
		}
	}
}
