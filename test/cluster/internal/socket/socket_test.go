package socket

import (
	"net"
	"testing"
)

func TestListen(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	taken := busy.Addr().(*net.TCPAddr).Port

	if _, _, err := Listen(taken, 0); err == nil {
		t.Error("wanted port is taken: got no error")
	}
	socket, port, err := Listen(0, taken)
	if err != nil {
		t.Fatalf("last port is taken: %v", err)
	}
	if port == taken || port == 0 {
		t.Errorf("last port is taken: got port %d, want another one", port)
	}
	if err := socket.Close(); err != nil {
		t.Fatal(err)
	}
	again, got, err := Listen(0, port)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got != port {
		t.Errorf("last port is free: got %d, want %d", got, port)
	}
}
