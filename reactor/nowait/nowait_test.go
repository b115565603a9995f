//go:build unix

package nowait_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/reactor/nowait"
)

// connected returns both ends of a connection. Only the first one is of this package.
func connected(t *testing.T, network string) (ours, theirs net.Conn) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "s")
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dialed, err := (&net.Dialer{}).DialContext(t.Context(), network, listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialed.Close() })
	theirs, err = listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close() })
	ours = nowait.Conn(dialed)
	if ours == dialed && hasOwnCalls {
		t.Fatalf("a connection of %s is left as it is", network)
	}
	return ours, theirs
}

// More is written than a socket takes, so writes and reads have to wait for the other end.
func TestLongMessages(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			ours, theirs := connected(t, network)
			sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
			answered := make(chan error, 1)
			go func() { // ends with the connection at the latest
				got := make([]byte, len(sent))
				_, err := io.ReadFull(theirs, got)
				if err == nil {
					_, err = theirs.Write(got)
				}
				answered <- errors.Join(err, theirs.Close())
			}()
			if n, err := ours.Write(sent); n != len(sent) || err != nil {
				t.Fatal(n, err)
			}
			got, err := io.ReadAll(ours)
			if err != nil || !bytes.Equal(got, sent) {
				t.Error(len(got), err)
			}
			if err := <-answered; err != nil {
				t.Error(err)
			}
		})
	}
}

// Errors read as those of package net do, and are those.
func TestErrors(t *testing.T) {
	deadline := func(ours, _ net.Conn) error { return ours.SetDeadline(time.Now().Add(-time.Second)) }
	closed := func(ours, _ net.Conn) error { return ours.Close() }
	reset := func(_, theirs net.Conn) error {
		return errors.Join(theirs.(*net.TCPConn).SetLinger(0), theirs.Close())
	}
	for _, tt := range []struct {
		name    string
		prepare func(ours, theirs net.Conn) error
		is      error
	}{
		{"a deadline", deadline, os.ErrDeadlineExceeded},
		{"closed", closed, net.ErrClosed},
		{"reset", reset, syscall.ECONNRESET},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var texts []string
			for _, wrapped := range []bool{true, false} {
				ours, theirs := connected(t, "tcp")
				addresses := strings.NewReplacer(ours.LocalAddr().String(), "HERE", ours.RemoteAddr().String(), "THERE")
				if own, ok := ours.(interface{ NetConn() net.Conn }); ok && !wrapped {
					ours = own.NetConn()
				}
				if err := tt.prepare(ours, theirs); err != nil {
					t.Fatal(err)
				}
				_, err := ours.Read(make([]byte, 1))
				if !errors.Is(err, tt.is) {
					t.Errorf("wrapped %t: %v", wrapped, err)
				}
				if timeout, ok := errors.AsType[net.Error](err); !ok || timeout.Timeout() != (tt.name == "a deadline") {
					t.Errorf("wrapped %t: %v is no error of package net, or a timeout", wrapped, err)
				}
				texts = append(texts, addresses.Replace(err.Error()))
			}
			if texts[0] != texts[1] {
				t.Errorf("ours reads %q, that of package net %q", texts[0], texts[1])
			}
		})
	}
}

func TestWriteToAClosedPeer(t *testing.T) {
	ours, theirs := connected(t, "tcp")
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	for range 1000 { // the first writes may still be taken
		if _, err = ours.Write([]byte("x")); err != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
}

// A read that waits ends when the connection is closed or its deadline passes.
func TestWaitingReadEnds(t *testing.T) {
	ours, _ := connected(t, "tcp")
	ended := make(chan error, 1)
	go func() { // ends by the deadline, or with the test
		_, err := ours.Read(make([]byte, 1))
		ended <- err
	}()
	time.Sleep(10 * time.Millisecond)
	if err := ours.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

func TestOtherConnectionsAreLeft(t *testing.T) {
	one, other := net.Pipe()
	defer other.Close()
	defer one.Close()
	if nowait.Conn(one) != one {
		t.Error("a pipe in memory is wrapped")
	}
}

// Calls allocate nothing.
func TestAllocations(t *testing.T) {
	ours, theirs := connected(t, "tcp")
	p := make([]byte, 8)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := ours.Write(p); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(theirs, p); err != nil {
			t.Fatal(err)
		}
		if _, err := theirs.Write(p); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(ours, p); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A pipe that is full takes the rest when it is read: nothing is lost, and nothing else stops.
func TestFullPipe(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	out := nowait.File(writer)
	line := bytes.Repeat([]byte("x"), 1023)
	line = append(line, '\n')
	written := make(chan error, 1)
	go func() { // ends when the pipe is read or closed
		for range 256 {
			if _, err := out.Write(line); err != nil {
				written <- err
				return
			}
		}
		written <- writer.Close()
	}()
	time.Sleep(50 * time.Millisecond)
	got, err := io.ReadAll(reader)
	if err := errors.Join(err, <-written); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(got, bytes.Repeat(line, 256)) {
		t.Errorf("%d bytes have arrived", len(got))
	}
}

func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := nowait.File(f)
	long := strings.Repeat("y", 10_000)
	for _, text := range []string{"a\n", "", long, "b\n"} {
		if n, err := out.Write([]byte(text)); n != len(text) || err != nil {
			t.Error(n, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write([]byte("late")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "a\n"+long+"b\n" {
		t.Error(len(got), err)
	}
}

// A file whose reader is gone fails as one of package os does.
func TestClosedPipe(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := nowait.File(writer).Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Error(err)
	}
}

// BenchmarkMessages shows what a message and its answer cost a process that has nothing else to do, as most operators.
func BenchmarkMessages(b *testing.B) {
	for _, tt := range []struct {
		name string
		wrap func(net.Conn) net.Conn
	}{
		{"net", func(c net.Conn) net.Conn { return c }},
		{"nowait", nowait.Conn},
	} {
		b.Run(tt.name, func(b *testing.B) {
			listener, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer listener.Close()
			go func() { // ends with the connection
				c, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = io.Copy(struct{ io.Writer }{tt.wrap(c)}, struct{ io.Reader }{tt.wrap(c)})
			}()
			c, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", listener.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			own, p := tt.wrap(c), make([]byte, 256)
			before := computed(b)
			for b.Loop() {
				time.Sleep(time.Millisecond)
				if _, err := own.Write(p); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(own, p); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((computed(b)-before).Microseconds())/float64(b.N), "µs-CPU/op")
		})
	}
}

// computed is the computing time of the process, with that of the scheduler's monitor.
func computed(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
