package oci

import (
	"strings"
	"testing"
	"time"
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
