package conns

import (
	"crypto/tls"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A hundred handshakes wait for one processor, each of which computes for a millisecond. A goroutine that waits for the
// network sees what has come after one or two of them. Without the relay, it would after ten: the runtime
// looks at the network every 10 ms while goroutines can run.
func TestNetworkIsSeenBetweenHandshakes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	b := New(Limits{})
	relay, err := newRelay()
	if err != nil {
		t.Fatal(err)
	}
	b.handshakes.relay, b.handshakes.all = relay, 1
	var computed atomic.Int32
	var flood sync.WaitGroup
	for range 100 {
		c := handshakingConn(b, "10.0.0.1")
		flood.Go(func() {
			if err := b.handshakes.enter(c); err != nil {
				t.Error(err)
			}
			for began := time.Now(); time.Since(began) < time.Millisecond; { // it computes
			}
			computed.Add(1)
			b.handshakes.rest(c)
		})
	}
	for waits := 0; waits < 100; { // until all are in the line
		b.handshakes.mu.Lock()
		if turn := b.handshakes.others.turns.Front(); turn != nil {
			waits = turn.Value.(*line).conns.Len()
		}
		b.handshakes.mu.Unlock()
		runtime.Gosched()
	}
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	began, before := make(chan struct{}), make(chan int32, 1)
	go func() { // It is waited for below.
		close(began)
		_, _ = from.Read(make([]byte, 1)) // at its end
		before <- computed.Load()
	}()
	<-began
	b.handshakes.mu.Lock()
	b.handshakes.free++
	b.handshakes.hand()
	b.handshakes.mu.Unlock()
	to.Close()
	if n := <-before; n > 5 {
		t.Errorf("%d handshakes came before what the network had brought", n)
	}
	flood.Wait()
	if err := b.handshakes.end(); err != nil {
		t.Error(err)
	}
	if b.handshakes.free != 1 || relay.reading {
		t.Errorf("%d turns are there, and it reads: %t", b.handshakes.free, relay.reading)
	}
}

// A listener that was closed leaves no handshake waiting.
func TestTurnsAfterTheEndOfTheListener(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := New(Limits{})
	config := &tls.Config{}
	secured, err := b.Secure(listener, config)
	if err != nil {
		t.Fatal(err)
	}
	if err := secured.Close(); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		c := handshakingConn(b, "10.0.0.1")
		if err := b.handshakes.enter(c); err != nil {
			t.Fatal(err)
		}
		b.handshakes.rest(c)
	}
}
