package porttest_test

import (
	"net"
	"testing"

	"github.com/kopf-wasm/kopf/test/porttest"
)

// Ports are free, and each is chosen once.
func TestUnused(t *testing.T) {
	seen := map[string]bool{}
	for range 500 {
		address := porttest.Unused(t)
		if seen[address] {
			t.Fatalf("%s is chosen twice", address)
		}
		seen[address] = true
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			t.Errorf("a program listens on %s", address)
		}
	}
}
