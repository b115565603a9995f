package conns

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener in memory, so that connections live in virtual time.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.done)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestSlowClientsOfServers checks that clients that are slow in any way are disconnected.
func TestSlowClientsOfServers(t *testing.T) {
	const get = "GET / HTTP/1.1\r\nHost: x\r\n"
	for _, tt := range []struct {
		name   string
		send   string
		deaf   bool // it does not read
		within time.Duration
	}{
		{"nothing", "", false, 5 * time.Second},
		{"half a head", get, false, 5 * time.Second},
		{"a body that does not come", get + "Content-Length: 10\r\n\r\n", false, 65 * time.Second},
		{"a head that is too long", get + "X: " + strings.Repeat("x", 32<<10) + "\r\n\r\n", false, 5 * time.Second},
		{"one request, and silence", get + "\r\n", false, 60 * time.Second},
		{"an answer that is not read", get + "\r\n", true, 95 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener := &pipes{make(chan net.Conn), make(chan struct{})}
				bounds := New(Small)
				server := Server(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, strings.Repeat("x", 1<<20)) // the client may not want it
				}))
				ended := make(chan error, 1)
				go func() { ended <- server.Serve(bounds.Listener(listener)) }() // It is waited for below.
				client, conn := net.Pipe()
				listener.conns <- conn
				go func() { _, _ = io.WriteString(client, tt.send) }() // it ends with the connection
				if !tt.deaf {
					go func() { _, _ = io.Copy(io.Discard, client) }() // it ends with the connection
				}
				began := time.Now()
				synctest.Wait()
				for bounds.Counts().Open > 0 && time.Since(began) < time.Hour {
					time.Sleep(time.Second)
				}
				if took := time.Since(began); took > tt.within+time.Second {
					t.Errorf("it was connected for %v, want at most %v", took, tt.within)
				}
				client.Close()
				if err := server.Close(); err != nil {
					t.Error(err)
				}
				<-ended
			})
		})
	}
}

// TestBusyServersAnswerLatecomers fills all connections with requests that wait for a
// handler. The oldest one makes room for a later client.
func TestBusyServersAnswerLatecomers(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, "ok")
	}))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(New(Small).Listener(listener)) }() // It is waited for below.
	var slow []net.Conn
	for range 300 {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		slow = append(slow, conn)
	}
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	for range 10 {
		rsp, err := client.Get("http://" + listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		rsp.Body.Close()
	}
	for _, conn := range slow {
		conn.Close()
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	<-ended
}
