package clients

import (
	"net"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"
)

// The system notices dead servers after 45 seconds of silence, as pings of HTTP/2 do.
func TestKeepAlive(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c, err := connecting(&rest.Config{}, 0, Options{}).Dial(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var got [4]int
	err = raw.Control(func(fd uintptr) {
		got[0], _ = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_KEEPALIVE)
		got[1], _ = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE)
		got[2], _ = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL)
		got[3], _ = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT)
	})
	if want := [4]int{1, 30, 5, 3}; err != nil || got != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}
