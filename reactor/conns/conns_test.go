package conns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// dialed is a connection of a client with an address.
type dialed struct {
	net.Conn
	from   string
	closed bool
}

func (d *dialed) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(d.from), Port: 1}
}

func (d *dialed) Close() error {
	d.closed = true
	return nil
}

// queue is a listener of waiting connections.
type queue []net.Conn

func (q *queue) Accept() (net.Conn, error) {
	if len(*q) == 0 {
		return nil, io.EOF
	}
	first := (*q)[0]
	*q = (*q)[1:]
	return first, nil
}

func (q *queue) Close() error { return nil }

func (q *queue) Addr() net.Addr { return nil }

// TestWhichConnectionIsClosed runs steps: "a" means that client a connects; "a:begin",
// "a:run", "a:end" and "a:close" act on its latest connection.
func TestWhichConnectionIsClosed(t *testing.T) {
	addresses := map[string]string{"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3", "v": "2001:db8::1", "w": "2001:db8::2", "x": "2001:db8:0:1::1", "m": "::ffff:10.0.0.1"}
	for _, tt := range []struct {
		name   string
		limits Limits
		steps  string
		open   string // in the order of arrival
		counts Counts
	}{
		{"there is room", Limits{Total: 3, Unproven: 3, PerAddress: 3}, "a b a", "a0 b1 a2", Counts{3, 0, 0}},
		{"the oldest that was not used", Limits{Total: 2, Unproven: 2, PerAddress: 2}, "a b c", "b1 c2", Counts{2, 1, 0}},
		{"of the address that has most", Limits{Total: 3, Unproven: 3, PerAddress: 3}, "a b b c", "a0 b2 c3", Counts{3, 1, 0}},
		{"before one that was used", Limits{Total: 2, Unproven: 2, PerAddress: 2}, "a a:begin a:end b c", "a0 c2", Counts{2, 1, 0}},
		{"the one that was used last stays", Limits{Total: 2, Unproven: 2, PerAddress: 2}, "a a:begin a:end b b:begin b:end c", "b1 c2", Counts{2, 1, 0}},
		{"one that waits is closed after one that was used", Limits{Total: 2, Unproven: 2, PerAddress: 2}, "a a:begin b b:begin b:end c", "a0 c2", Counts{2, 1, 0}},
		{"one that waits is closed, too", Limits{Total: 1, Unproven: 1, PerAddress: 1}, "a a:begin b", "b1", Counts{1, 1, 0}},
		{"one that runs is not", Limits{Total: 1, Unproven: 1, PerAddress: 1}, "a a:begin a:run b", "a0", Counts{1, 0, 1}},
		{"until its end", Limits{Total: 1, Unproven: 1, PerAddress: 1}, "a a:begin a:run b a:end c", "c2", Counts{1, 1, 1}},
		{"several requests", Limits{Total: 1, Unproven: 1, PerAddress: 1}, "a a:begin a:run a:begin a:end b", "a0", Counts{1, 0, 1}},
		{"what was closed leaves room", Limits{Total: 1, Unproven: 1, PerAddress: 1}, "a a:close b", "b1", Counts{1, 0, 0}},
		{"an address has its own limit", Limits{Total: 9, Unproven: 9, PerAddress: 2}, "a b a a", "b1 a2 a3", Counts{3, 1, 0}},
		{"and cannot take more", Limits{Total: 9, Unproven: 9, PerAddress: 1}, "a a:begin a:run a b", "a0 b2", Counts{2, 0, 1}},
		{"few that have brought nothing", Limits{Total: 9, Unproven: 2, PerAddress: 9}, "a a:begin a:end b b b", "a0 b2 b3", Counts{3, 1, 0}},
		{"IPv6: a network is one address", Limits{Total: 9, Unproven: 9, PerAddress: 1}, "v w x", "w1 x2", Counts{2, 1, 0}},
		{"IPv4 within IPv6 is IPv4", Limits{Total: 9, Unproven: 9, PerAddress: 1}, "a m", "m1", Counts{1, 1, 0}},
		{"the defaults", Limits{Total: 4}, "a a a b c", "b3 c4", Counts{2, 3, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, all, incoming := New(tt.limits), []*dialed{}, &queue{}
			listener := b.Listener(incoming)
			accepted, requests := map[string]net.Conn{}, map[string]*Request{}
			for step := range strings.FieldsSeq(tt.steps) {
				switch who, what, _ := strings.Cut(step, ":"); what {
				case "":
					d := &dialed{from: addresses[who]}
					*incoming = append(*incoming, d)
					all = append(all, d)
					if c, err := listener.Accept(); err == nil {
						accepted[who] = c
					}
				case "begin":
					requests[who] = Begin(Context(t.Context(), accepted[who]))
				case "run":
					requests[who].Run()
				case "end":
					requests[who].End()
				case "close":
					accepted[who].Close()
				}
			}
			var open []string
			for i, d := range all {
				if !d.closed {
					who := ""
					for name, address := range addresses {
						if address == d.from {
							who = name
						}
					}
					open = append(open, fmt.Sprint(who, i))
				}
			}
			if got := strings.Join(open, " "); got != tt.open || b.Counts() != tt.counts {
				t.Errorf("open are %s, %+v; want %s, %+v", got, b.Counts(), tt.open, tt.counts)
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	for remote, want := range map[string]string{
		"10.1.2.3:80": "10.1.2.3/32", "[::ffff:10.1.2.3]:80": "10.1.2.3/32", "[2001:db8:1:2:3::4]:1": "2001:db8:1:2::/64", "[fe80::1%eth0]:1": "fe80::/64",
		"pipe": "invalid Prefix", "": "invalid Prefix",
	} {
		if got := AddressOf(remote).String(); got != want {
			t.Errorf("the address of %q is %s, want %s", remote, got, want)
		}
	}
}

// TestSilentClientsDoNotLockOutOthers connects 1,000 clients that send nothing to a server with
// room for 50 connections. After each, another client is served over its own connections,
// and keeps those that it has used.
func TestSilentClientsDoNotLockOutOthers(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := New(Limits{Total: 50})
	server := Server(http.NotFoundHandler())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(b.Listener(listener)) }() // It is waited for below.
	kept := &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
	fresh := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	defer kept.CloseIdleConnections()
	var silent []net.Conn
	for i := range 1000 {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		silent = append(silent, conn)
		if i%100 != 0 && i != 999 { // the last one: all others are accepted before it
			continue
		}
		for _, client := range []*http.Client{kept, fresh} {
			rsp, err := client.Get("http://" + listener.Addr().String())
			if err != nil {
				t.Fatalf("with %d silent clients: %v", i+1, err)
			}
			_, _ = io.Copy(io.Discard, rsp.Body) // for the next request over the connection
			rsp.Body.Close()
		}
	}
	if counts := b.Counts(); counts.Open > 50 || counts.Evicted < 900 || counts.Refused > 0 {
		t.Errorf("%+v", counts)
	}
	for _, conn := range silent {
		conn.Close()
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// TestRequestsWithoutBounds checks that requests on servers without bounds are valid.
func TestRequestsWithoutBounds(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	for _, ctx := range []context.Context{t.Context(), Context(t.Context(), server)} {
		request := Begin(ctx)
		request.Run()
		request.End()
		if request != nil {
			t.Error("a connection without bounds is counted")
		}
	}
}

// FuzzCountsAfterAnyHistory checks that the counts equal the open connections after any
// sequence of steps.
func FuzzCountsAfterAnyHistory(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 0, 0x10, 0x20, 0x30, 0x40, 0x11, 0x21})
	f.Fuzz(func(t *testing.T, steps []byte) {
		b := New(Limits{Total: 6, PerAddress: 4, Unproven: 3})
		incoming := &queue{}
		listener := b.Listener(incoming)
		type used struct {
			dialed   *dialed
			conn     net.Conn
			requests []*Request
		}
		var all []*used
		for _, step := range steps {
			which := int(step & 0xf)
			if step>>4 == 0 {
				d := &dialed{from: fmt.Sprintf("10.0.0.%d", which%3)}
				*incoming = append(*incoming, d)
				if c, err := listener.Accept(); err == nil {
					all = append(all, &used{dialed: d, conn: c})
				}
				continue
			}
			if which >= len(all) {
				continue
			}
			switch u := all[which]; step >> 4 {
			case 1:
				u.requests = append(u.requests, Begin(Context(t.Context(), u.conn)))
			case 2:
				if n := len(u.requests); n > 0 && !u.requests[n-1].running {
					u.requests[n-1].Run()
				}
			case 3:
				if n := len(u.requests); n > 0 {
					u.requests[n-1].End()
					u.requests = u.requests[:n-1]
				}
			case 4:
				u.conn.Close()
			}
		}
		open := slices.DeleteFunc(slices.Clone(all), func(u *used) bool { return u.dialed.closed })
		if counts := b.Counts(); counts.Open != len(open) || counts.Open > 6 {
			t.Errorf("%+v, and %d are open", counts, len(open))
		}
		for _, u := range open {
			u.conn.Close()
		}
		if len(b.clients) > 0 || b.unused != 0 || b.Counts().Open != 0 {
			t.Errorf("after all, there are %d clients, %d unused, %+v", len(b.clients), b.unused, b.Counts())
		}
	})
}
