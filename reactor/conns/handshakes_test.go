package conns

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func handshakingConn(b *Bounds, address string) *conn {
	return &conn{Conn: &dialed{from: address}, bounds: b, address: AddressOf(netip.AddrPortFrom(netip.MustParseAddr(address), 1).String())}
}

// Handshakes of known addresses come first; other addresses take turns.
func TestOrderOfHandshakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Limits{})
		b.handshakes.free = 1
		known := handshakingConn(b, "10.0.0.9")
		b.handshakes.prove(known.address)
		current := handshakingConn(b, "10.0.0.1")
		if err := b.handshakes.enter(current); err != nil {
			t.Fatal(err)
		}
		var order []string
		var waiting sync.WaitGroup
		for _, c := range []*conn{handshakingConn(b, "10.0.0.1"), handshakingConn(b, "10.0.0.1"), handshakingConn(b, "10.0.0.1"), handshakingConn(b, "10.0.0.2"), known} {
			waiting.Go(func() {
				if err := b.handshakes.enter(c); err != nil {
					t.Error(err)
				}
				order = append(order, c.address.Addr().String())
				b.handshakes.rest(c)
			})
			synctest.Wait()
		}
		b.handshakes.rest(current)
		waiting.Wait()
		if want := []string{"10.0.0.9", "10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.1"}; !slices.Equal(order, want) {
			t.Errorf("%v, want %v", order, want)
		}
		if b.handshakes.free != 1 || len(b.handshakes.others.lines) != 0 || b.handshakes.others.turns.Len() != 0 {
			t.Errorf("%+v", &b.handshakes)
		}
	})
}

// A request alone does not make an address known: attackers send requests, too.
func TestAddressesThatAreKnown(t *testing.T) {
	b := New(Limits{})
	c := handshakingConn(b, "10.0.0.1")
	ctx := Context(t.Context(), c)
	for _, proves := range []bool{false, true} {
		request := Begin(ctx)
		request.Run()
		if proves {
			request.Prove()
		}
		request.End()
		if known := b.handshakes.known.has(c.address); known != proves {
			t.Errorf("known: %v, after a request that proves: %v", known, proves)
		}
	}
}

// A handshake that waits for too long fails, as does one whose connection is closed.
func TestHandshakesThatDoNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Limits{})
		late, closed, early := handshakingConn(b, "10.0.0.1"), handshakingConn(b, "10.0.0.1"), handshakingConn(b, "10.0.0.1")
		time.AfterFunc(time.Second, func() { closed.Close() })
		early.Close()
		for c, want := range map[*conn]error{late: errTooManyHandshakes, closed: errEvicted, early: errEvicted} {
			if err := b.handshakes.enter(c); !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
		}
		if len(b.handshakes.others.lines) != 0 {
			t.Error("something waits")
		}
	})
}

// recorded is a connection that keeps what the server writes first.
type recorded struct {
	net.Conn
	first []byte
}

func (r *recorded) Write(p []byte) (int, error) {
	if r.first == nil {
		r.first = slices.Clone(p)
	}
	return r.Conn.Write(p)
}

type recording struct {
	net.Listener
	conns chan *recorded
}

func (r recording) Accept() (net.Conn, error) {
	c, err := r.Listener.Accept()
	if err != nil {
		return nil, err
	}
	kept := &recorded{Conn: c}
	r.conns <- kept
	return kept, nil
}

// Clients of all versions are served through handshakes that take turns, also those that
// are asked for another ClientHello, and those that are silent in the middle hold nothing.
func TestHandshakesOfClients(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.StartTLS()
	defer server.Close()
	config := server.TLS.Clone()
	config.NextProtos, config.CurvePreferences = nil, []tls.CurveID{tls.CurveP256}
	b, conns := New(Limits{}), make(chan *recorded, 100)
	own := Server(http.NotFoundHandler())
	secured, err := b.Secure(recording{listener, conns}, config)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- own.Serve(secured) }() // It is waited for below.
	for range 5 {                               // they send a part of a handshake
		silent, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		if _, err := io.WriteString(silent, "\x16\x03\x01\x01\x00\x01"); err != nil {
			t.Fatal(err)
		}
		<-conns
	}
	for _, tt := range []struct {
		name     string
		versions uint16
		curves   []tls.CurveID
		retry    bool
	}{
		{"the right key", tls.VersionTLS13, []tls.CurveID{tls.CurveP256}, false},
		{"another key", tls.VersionTLS13, []tls.CurveID{tls.X25519, tls.CurveP256}, true},
		{"an old version", tls.VersionTLS12, []tls.CurveID{tls.X25519, tls.CurveP256}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			transport := server.Client().Transport.(*http.Transport).Clone()
			transport.TLSClientConfig.MaxVersion, transport.TLSClientConfig.CurvePreferences = tt.versions, tt.curves
			transport.TLSClientConfig.ServerName, transport.DisableKeepAlives = "example.com", true
			client := &http.Client{Timeout: time.Minute, Transport: transport}
			var clients sync.WaitGroup
			for range 10 {
				clients.Go(func() {
					rsp, err := client.Get("https://" + listener.Addr().String())
					if err != nil {
						t.Error(err)
						return
					}
					rsp.Body.Close()
				})
			}
			clients.Wait()
			for range 10 {
				if c := <-conns; isRetry(c.first) != tt.retry {
					t.Errorf("another ClientHello is asked for: %t", !tt.retry)
				}
			}
		})
	}
	if err := own.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// The set of known addresses is bounded.
func TestKnownAddressesAreBounded(t *testing.T) {
	var a addresses
	for n := range 2 * knownAddresses {
		a.add(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}), 32))
		a.add(netip.MustParsePrefix("192.0.2.1/32"))
	}
	if len(a.all) != knownAddresses || a.order.Len() != knownAddresses || !a.has(netip.MustParsePrefix("192.0.2.1/32")) {
		t.Errorf("%d and %d addresses", len(a.all), a.order.Len())
	}
}

// A part of a message is no request for another ClientHello.
func TestShortMessagesAreNoRetry(t *testing.T) {
	for n := range 43 {
		if isRetry([]byte("\x16\x03\x03\x00\x58\x02" + strings.Repeat("\x00", n))) {
			t.Errorf("%d bytes", n)
		}
	}
}

// The answer to a request for another ClientHello waits for its turn, too.
func TestSecondHelloWaits(t *testing.T) {
	client, accepted := net.Pipe()
	defer client.Close()
	b := New(Limits{})
	b.handshakes.free = 1
	c := handshakingConn(b, "10.0.0.1")
	c.Conn = accepted
	c.retry.Store(true)
	sent := make(chan error, 1)
	go func() { // It is waited for below.
		_, err := io.WriteString(client, "hello")
		sent <- err
	}()
	if _, err := c.Read(make([]byte, 5)); err != nil || !c.busy.Load() || b.handshakes.free != 0 {
		t.Errorf("it does not count: %v", err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil || b.handshakes.free != 1 {
		t.Errorf("it counts after its end: %v", err)
	}
}
