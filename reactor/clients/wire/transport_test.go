package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// opener is the transport below.
func opener() *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: maxIdle, DialContext: Noting((&net.Dialer{}).DialContext), Proxy: nil}
}

// fallback counts the requests that are left to the transport below.
type fallback struct {
	*http.Transport
	left atomic.Int32
}

func (f *fallback) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Err() == nil {
		f.left.Add(1)
	}
	return f.Transport.RoundTrip(r)
}

func (f *fallback) WrappedRoundTripper() http.RoundTripper { return f.Transport }

func parsed(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// own makes a transport for a server, which must not leave requests to net/http.
func own(t testing.TB, through http.RoundTripper, server string) *Transport {
	t.Helper()
	made, ok := New(through, parsed(t, server)).(*Transport)
	if !ok {
		t.Skip("connections cannot be probed here")
	}
	t.Cleanup(made.CloseIdleConnections)
	return made
}

func request(t testing.TB, ctx context.Context, method, target, body string) *http.Request { //nolint:revive // as in Go's own tests
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("User-Agent", "test")
	return r
}

// patch sends a patch, and returns the text of its response.
func patch(t testing.TB, rt http.RoundTripper, target string) (string, error) {
	t.Helper()
	rsp, err := rt.RoundTrip(request(t, t.Context(), http.MethodPatch, target, "{}"))
	if err != nil {
		return "", err
	}
	defer rsp.Body.Close()
	text, err := io.ReadAll(rsp.Body)
	return string(text), err
}

// script is a server that answers each request of a connection by the next text of a list. It
// closes the connection after the last one.
func script(t testing.TB, answers ...string) (address string, connections, requests *atomic.Int32) {
	t.Helper()
	connections, requests = &atomic.Int32{}, &atomic.Int32{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(func() { listener.Close(); running.Wait() })
	running.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			running.Go(func() {
				defer c.Close()
				from := bufio.NewReader(c)
				for _, answer := range answers {
					r, err := http.ReadRequest(from)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					requests.Add(1)
					_, _ = io.WriteString(c, answer)
				}
			})
		}
	})
	return listener.Addr().String(), connections, requests
}

const plain = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

// What servers may send: the response or the error, and whether the connection is used again.
func TestResponses(t *testing.T) {
	long := "X-Long: " + strings.Repeat("x", 1<<10) + "\r\n"
	for name, tt := range map[string]struct {
		answer string
		method string
		want   string // the text of the body
		failed string // a part of the error
		again  bool   // the connection is used for the next request
	}{
		"a length":                         {answer: plain, want: "{}", again: true},
		"no body":                          {answer: "HTTP/1.1 204 No Content\r\n\r\n", again: true},
		"an empty body":                    {answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", again: true},
		"nothing new":                      {answer: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", again: true},
		"the head of a body":               {method: http.MethodHead, answer: "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", again: true},
		"chunks":                           {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\n\r\n", want: "{}", again: true},
		"chunks and trailers":              {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2\r\n{}\r\n0\r\nX: y\r\n\r\n", want: "{}", again: true},
		"chunks and a length":              {answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", want: "{}", again: true},
		"until the end":                    {answer: "HTTP/1.1 200 OK\r\n\r\n{}", want: "{}"},
		"of HTTP/1.0":                      {answer: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", want: "{}"},
		"a goodbye":                        {answer: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", want: "{}"},
		"an error":                         {answer: "HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\n{}", want: "{}", again: true},
		"interim responses":                {answer: strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", 7) + plain, want: "{}", again: true},
		"too many of them":                 {answer: strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", maxHead/20), failed: errLongHead.Error()},
		"another protocol":                 {answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", failed: errSwitch.Error()},
		"a long head":                      {answer: "HTTP/1.1 200 OK\r\n" + strings.Repeat(long, maxHead>>10) + "\r\n", failed: errLongHead.Error()},
		"an endless status":                {answer: "HTTP/1.1 200 " + strings.Repeat("O", maxHead), failed: errLongHead.Error()},
		"a head that fits":                 {answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + strings.Repeat(long, 100) + "\r\n{}", want: "{}", again: true},
		"long trailers":                    {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat(long, 8) + "\r\n", failed: "trailer"},
		"chunks of nothing but extensions": {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;"+strings.Repeat("x", 1000)+"\r\nx\r\n", 100) + "0\r\n\r\n", failed: "non-data"},
		"a chunk of a wrong size":          {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", failed: "chunk"},
		"a negative length":                {answer: "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}", failed: "Content-Length"},
		"two lengths":                      {answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", failed: "Content-Length"},
		"an unknown encoding":              {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\n\r\n{}", failed: "transfer encoding"},
		"half a body":                      {answer: "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{}", failed: io.ErrUnexpectedEOF.Error()},
		"half of the chunks":               {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", failed: io.ErrUnexpectedEOF.Error()},
		"half a head":                      {answer: "HTTP/1.1 200 OK\r\nContent-Le", failed: "malformed MIME header"},
		"nothing":                          {answer: "", failed: errUnanswered.Error()},
		"garbage":                          {answer: "\x16\x03\x01\r\n\r\n", failed: "malformed HTTP response"},
		"no number":                        {answer: "HTTP/1.1 OK\r\n\r\n", failed: "malformed HTTP status code"},
		"a head of HTTP/2":                 {answer: "\x00\x00\x12\x04\x00\x00\x00\x00\x00\r\n", failed: "malformed HTTP"},
		"a header without a name":          {answer: "HTTP/1.1 200 OK\r\n: x\r\n\r\n", failed: "malformed"},
		"more than the response":           {answer: plain + plain, want: "{}"},
		"more than a response of no body":  {answer: "HTTP/1.1 204 No Content\r\n\r\n" + plain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			method := http.MethodPatch
			if tt.method != "" {
				method = tt.method
			}
			answers := []string{tt.answer, plain}
			if tt.failed != "" || strings.HasSuffix(name, "the end") {
				answers = answers[:1] // the end of the connection is a part of what the server says
			}
			address, connections, requests := script(t, answers...)
			below := &fallback{Transport: opener()}
			rt := own(t, below, "http://"+address)
			got := ""
			rsp, err := rt.RoundTrip(request(t, t.Context(), method, "http://"+address+"/x", "{}"))
			if err == nil {
				var text []byte
				text, err = io.ReadAll(rsp.Body)
				got = string(text)
				rsp.Body.Close()
			}
			switch {
			case tt.failed != "" && (err == nil || !strings.Contains(err.Error(), tt.failed)):
				t.Errorf("got %.100q and the error %v, want one with %q", got, err, tt.failed)
			case tt.failed == "" && (err != nil || got != tt.want):
				t.Errorf("got %.100q and the error %v, want %q", got, err, tt.want)
			}
			if kept := len(rt.idle) == 1; kept != tt.again {
				t.Errorf("the connection is kept: %t", kept)
			}
			if tt.failed == "" && !strings.HasSuffix(name, "the end") {
				if text, err := patch(t, rt, "http://"+address+"/x"); err != nil || tt.again && text != "{}" {
					t.Errorf("the next request: %q, %v", text, err)
				}
				if again := connections.Load() == 1; again != tt.again {
					t.Errorf("%d connections for two requests", connections.Load())
				}
			} else if requests.Load() != 1 {
				t.Errorf("the server got %d requests", requests.Load())
			}
			if below.left.Load() != 0 {
				t.Error("net/http got a request")
			}
		})
	}
}

// secure is a server over TLS.
func secure(t testing.TB, handler http.HandlerFunc, config *tls.Config) (*httptest.Server, *fallback) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.TLS = config
	server.StartTLS()
	t.Cleanup(server.Close)
	below := &fallback{Transport: opener()}
	below.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	below.TLSClientConfig.NextProtos = []string{"http/1.1"}
	return server, below
}

// echo answers with the request.
func echo(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s %s %q %v", r.Method, r.Host, r.RequestURI, r.Header.Get("Content-Type"), text, err)
}

// Requests arrive as they are, over one connection.
func TestRequests(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		server, below := secure(t, echo, &tls.Config{MinVersion: version, MaxVersion: version})
		var opened atomic.Int32
		dial := below.DialContext
		below.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			opened.Add(1)
			return dial(ctx, network, address)
		}
		rt := own(t, below, server.URL)
		for _, tt := range []struct{ method, path, body string }{
			{http.MethodGet, "/x?y=z%20", ""}, {http.MethodPatch, "/a%2Fb", "{}"}, {http.MethodPost, "/", strings.Repeat("x", maxRequest)}, {http.MethodDelete, "/x", ""}, {http.MethodPut, "/x", ""},
		} {
			r := request(t, t.Context(), tt.method, server.URL+tt.path, tt.body)
			r.Header.Set("Content-Type", "text/plain")
			rsp, err := rt.RoundTrip(r) //nolint:bodyclose // read to its end, closed below, or none
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(rsp.Body)
			want := fmt.Sprintf("%s %s %s text/plain %q <nil>", tt.method, strings.TrimPrefix(server.URL, "https://"), tt.path, tt.body)
			if err != nil || string(text) != want {
				t.Errorf("got %.100s, %v, want %.100s", text, err, want)
			}
			if rsp.TLS == nil || len(rsp.TLS.PeerCertificates) == 0 || rsp.Request != r {
				t.Error("the response lacks the certificate of the server, or its request")
			}
		}
		if opened.Load() > 1 || below.left.Load() != 0 {
			t.Errorf("%d connections, %d requests by net/http", opened.Load(), below.left.Load())
		}
	}
}

// Unusual requests are left to the transport below.
func TestUnusualRequests(t *testing.T) {
	server, below := secure(t, echo, nil)
	other, _ := secure(t, echo, nil)
	rt := own(t, below, server.URL)
	for name, change := range map[string]func(r *http.Request){
		"a long body": func(r *http.Request) {
			r.ContentLength, r.Body = maxRequest+1, io.NopCloser(strings.NewReader(strings.Repeat("x", maxRequest+1)))
		},
		"a bad length":      func(r *http.Request) { r.Body = nil },
		"an unknown length": func(r *http.Request) { r.ContentLength = -1 },
		"another server":    func(r *http.Request) { r.URL.Host = strings.TrimPrefix(other.URL, "https://") },
		"another host":      func(r *http.Request) { r.Host = "example.com" },
		"another method":    func(r *http.Request) { r.Method = http.MethodOptions },
		"a continuation":    func(r *http.Request) { r.Header.Set("Expect", "100-continue") },
		"an upgrade":        func(r *http.Request) { r.Header.Set("Connection", "Upgrade") },
		"a goodbye":         func(r *http.Request) { r.Close = true },
		"no agent":          func(r *http.Request) { r.Header.Del("User-Agent") },
		"a bad name":        func(r *http.Request) { r.Header["a b"] = []string{"x"} },
		"a bad value":       func(r *http.Request) { r.Header.Set("X", "a\r\nb: c") },
	} {
		before := below.left.Load()
		r := request(t, t.Context(), http.MethodPatch, server.URL+"/x", "{}")
		change(r)
		rsp, err := rt.RoundTrip(r)
		if err == nil {
			rsp.Body.Close()
		}
		if bad := strings.HasPrefix(name, "a bad"); bad != (err != nil) && name != "another server" || below.left.Load() != before+1 {
			t.Errorf("%s: %v, %d requests by net/http", name, err, below.left.Load()-before)
		}
	}
}

// A dialer that hides its sockets, and a transport of an unknown type, leave all to net/http.
func TestUnknownConnections(t *testing.T) {
	server, below := secure(t, echo, nil)
	dial := below.DialContext
	below.DialContext = func(_ context.Context, network, address string) (net.Conn, error) {
		c, err := dial(t.Context(), network, address)
		return struct{ net.Conn }{c}, err
	}
	if text, err := patch(t, own(t, below, server.URL), server.URL+"/x"); err != nil || below.left.Load() != 1 {
		t.Errorf("got %s, %v", text, err)
	}
	unknown := struct{ http.RoundTripper }{below}
	if got := New(unknown, parsed(t, server.URL)); got != http.RoundTripper(unknown) {
		t.Errorf("got %T", got)
	}
}

// A connection that the server has closed while it was idle is not used: no request is lost.
func TestClosedIdleConnections(t *testing.T) {
	for _, version := range []uint16{0, tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			ends := make(chan net.Conn, 1)
			handler := func(w http.ResponseWriter, r *http.Request) {
				c, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					panic(err)
				}
				_, _ = io.WriteString(c, plain)
				ends <- c
			}
			server, below := secure(t, handler, &tls.Config{MinVersion: version, MaxVersion: version})
			if version == 0 {
				server = httptest.NewServer(http.HandlerFunc(handler))
				defer server.Close()
			}
			rt := own(t, below, server.URL)
			for name, end := range map[string]func(c net.Conn){
				"closed":         func(c net.Conn) { c.Close() },
				"more than that": func(c net.Conn) { _, _ = io.WriteString(c, plain) },
			} {
				for range 20 {
					if text, err := patch(t, rt, server.URL+"/x"); err != nil || text != "{}" {
						t.Fatalf("%s: got %q, %v", name, text, err)
					}
					c := <-ends
					idle := rt.pop()
					if !idle.isAlive() {
						t.Fatalf("%s: an idle connection is taken for dead", name)
					}
					rt.put(idle)
					end(c)
					for deadline := time.Now().Add(time.Minute); idle.isAlive(); time.Sleep(time.Millisecond) {
						if time.Now().After(deadline) {
							t.Fatalf("%s: a dead connection is taken for alive", name)
						}
					}
					defer c.Close()
				}
			}
		})
	}
}

// The end of the context ends a request at any time, and its connection.
func TestInterruption(t *testing.T) {
	got := make(chan struct{})
	server, below := secure(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/body" {
			_, _ = io.WriteString(w, "x")
			w.(http.Flusher).Flush()
		}
		got <- struct{}{}
		<-r.Context().Done() // the connection has ended
	}, nil)
	rt := own(t, below, server.URL)
	why := errors.New("why")
	for _, path := range []string{"/head", "/body"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { <-got; cancel(why) }()
		rsp, err := rt.RoundTrip(request(t, ctx, http.MethodPatch, server.URL+path, "{}")) //nolint:bodyclose // read to its end, closed below, or none
		if err == nil {
			_, err = io.ReadAll(rsp.Body)
		}
		if !errors.Is(err, why) || len(rt.idle) != 0 {
			t.Errorf("%s: %v, %d idle connections", path, err, len(rt.idle))
		}
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := rt.RoundTrip(request(t, ended, http.MethodPatch, server.URL, "{}")); !errors.Is(err, why) { //nolint:bodyclose // read to its end, closed below, or none
		t.Errorf("got %v", err)
	}
}

// A response that is closed early closes its connection, also while another goroutine reads.
func TestEarlyEnd(t *testing.T) {
	server, below := secure(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "x")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, nil)
	rt := own(t, below, server.URL)
	rsp, err := rt.RoundTrip(request(t, t.Context(), http.MethodPatch, server.URL, "{}")) //nolint:bodyclose // read to its end, closed below, or none
	if err != nil {
		t.Fatal(err)
	}
	reading := make(chan error)
	go func() {
		_, err := io.ReadAll(rsp.Body)
		reading <- err
	}()
	time.Sleep(10 * time.Millisecond)
	rsp.Body.Close()
	if err := <-reading; err == nil {
		t.Error("reading has no error")
	}
	if _, err := rsp.Body.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) || len(rt.idle) != 0 {
		t.Errorf("got %v, %d idle connections", err, len(rt.idle))
	}
}

// Many requests at once are not mixed up, and leave at most maxIdle connections.
func TestManyRequests(t *testing.T) {
	server, below := secure(t, echo, nil)
	rt := own(t, below, server.URL)
	var running sync.WaitGroup
	for i := range 2 * maxIdle {
		running.Go(func() {
			for n := range 20 {
				path := fmt.Sprintf("/%d/%d", i, n)
				text, err := patch(t, rt, server.URL+path)
				if err != nil || !strings.Contains(text, " "+path+" ") {
					t.Errorf("%s: got %s, %v", path, text, err)
				}
			}
		})
	}
	running.Wait()
	if n := len(rt.idle); n == 0 || n > maxIdle {
		t.Errorf("%d idle connections", n)
	}
	rt.CloseIdleConnections()
	if len(rt.idle) != 0 || rt.closing != nil {
		t.Error("idle connections are left")
	}
}

// Connections end when they have been idle for long.
func TestOldConnections(t *testing.T) {
	server, below := secure(t, echo, nil)
	rt := own(t, below, server.URL)
	if _, err := patch(t, rt, server.URL); err != nil {
		t.Fatal(err)
	}
	rt.closeIdle(idleTimeout)
	if len(rt.idle) != 1 || rt.closing == nil {
		t.Error("a young connection has ended, or its end is not awaited")
	}
	rt.idle[0].since = time.Now().Add(-2 * idleTimeout)
	rt.closeIdle(idleTimeout)
	if len(rt.idle) != 0 || rt.closing != nil {
		t.Error("an old connection is left")
	}
}

// rotating is a transport that replaces its configuration, as client-go's does if the file of the
// certificate authorities has changed.
type rotating struct {
	now  atomic.Pointer[http.Transport]
	next *http.Transport
}

func (r *rotating) WrappedRoundTripper() http.RoundTripper { return r.now.Load() }

func (r *rotating) RoundTrip(q *http.Request) (*http.Response, error) {
	r.now.Store(r.next)
	return r.next.RoundTrip(q)
}

// Connections with an earlier configuration are not used again.
func TestReplacedConfiguration(t *testing.T) {
	server, below := secure(t, echo, nil)
	through := &rotating{next: below.Transport}
	through.now.Store(below.Transport)
	rt := own(t, through, server.URL)
	if _, err := patch(t, rt, server.URL); err != nil {
		t.Fatal(err)
	}
	through.next = opener() // trusts none
	through.next.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if _, err := patch(t, rt, server.URL); err != nil {
		t.Errorf("before the next check: %v", err)
	}
	rt.checked = time.Time{}
	if _, err := patch(t, rt, server.URL); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("after the check: %v", err)
	}
}

// The hooks that clients use are called.
func TestTraces(t *testing.T) {
	server, below := secure(t, echo, nil)
	rt := own(t, below, server.URL)
	var seen []string
	trace := &httptrace.ClientTrace{
		GotConn:              func(i httptrace.GotConnInfo) { seen = append(seen, fmt.Sprint("connection ", i.Reused)) },
		WroteRequest:         func(i httptrace.WroteRequestInfo) { seen = append(seen, fmt.Sprint("written ", i.Err)) },
		GotFirstResponseByte: func() { seen = append(seen, "answered") },
	}
	for range 2 {
		rsp, err := rt.RoundTrip(request(t, httptrace.WithClientTrace(t.Context(), trace), http.MethodPatch, server.URL, "{}")) //nolint:bodyclose // read to its end, closed below, or none
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, rsp.Body)
	}
	want := "[connection false written <nil> answered connection true written <nil> answered]"
	if got := fmt.Sprint(seen); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A request is one record of TLS, and so one packet.
func TestOneRecord(t *testing.T) {
	server, below := secure(t, echo, nil)
	var writes atomic.Int32
	dial := below.DialContext
	below.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		return &counting{c.(*net.TCPConn), &writes}, err
	}
	rt := own(t, below, server.URL)
	if _, err := patch(t, rt, server.URL); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{2, 10_000} {
		before := writes.Load()
		rsp, err := rt.RoundTrip(request(t, t.Context(), http.MethodPatch, server.URL, strings.Repeat("x", size))) //nolint:bodyclose // read to its end, closed below, or none
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, rsp.Body)
		if n := writes.Load() - before; n != 1 {
			t.Errorf("%d bytes took %d writes", size, n)
		}
	}
}

type counting struct {
	*net.TCPConn
	writes *atomic.Int32
}

func (c *counting) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.TCPConn.Write(p)
}

// Requests over a server that speaks another protocol than HTTP/1.1 fail with a clear error.
func TestOtherProtocols(t *testing.T) {
	server, below := secure(t, echo, &tls.Config{NextProtos: []string{"other"}, MinVersion: tls.VersionTLS12})
	below.TLSClientConfig.NextProtos = []string{"other"}
	if _, err := patch(t, own(t, below, server.URL), server.URL); err == nil || !strings.Contains(err.Error(), `the protocol "other"`) {
		t.Errorf("got %v", err)
	}
}
