package wire_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/webhooks/wire"
)

// recorded is a connection with a client that has sent all it sends.
type recorded struct {
	net.Conn
	in     *bytes.Reader
	closed chan struct{}

	mu  sync.Mutex // guards the fields below
	out bytes.Buffer
	end sync.Once
}

func record(text []byte) *recorded {
	return &recorded{in: bytes.NewReader(text), closed: make(chan struct{})}
}

func (r *recorded) Read(p []byte) (int, error) { return r.in.Read(p) }

func (r *recorded) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(p)
}

func (r *recorded) Close() error {
	r.end.Do(func() { close(r.closed) })
	return nil
}

func (r *recorded) LocalAddr() net.Addr { return address(1) }

func (r *recorded) RemoteAddr() net.Addr { return address(2) }

func address(port int) net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port} }

func (r *recorded) SetDeadline(time.Time) error      { return nil }
func (r *recorded) SetReadDeadline(time.Time) error  { return nil }
func (r *recorded) SetWriteDeadline(time.Time) error { return nil }

// listed is a listener with given connections.
type listed struct {
	conns chan net.Conn
	end   sync.Once
	done  chan struct{}
}

func newListed() *listed { return &listed{conns: make(chan net.Conn), done: make(chan struct{})} }

func (l *listed) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listed) Close() error {
	l.end.Do(func() { close(l.done) })
	return nil
}

func (l *listed) Addr() net.Addr { return address(1) }

// echo answers with all that handlers see of a request.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	text, _ := json.Marshal(map[string]any{
		"method": r.Method, "uri": r.RequestURI, "path": r.URL.Path, "host": r.Host, "proto": r.Proto, "header": r.Header, "length": r.ContentLength,
		"close": r.Close, "encoding": r.TransferEncoding, "body": string(body), "error": fmt.Sprint(err), "remote": r.RemoteAddr, "trailer": r.Trailer,
	})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text)
}

// httpServer is a server like that of webhooks.
func httpServer(handler http.HandlerFunc) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: 45 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10, Protocols: &protocols, ErrorLog: log.New(io.Discard, "", 0), ConnContext: noContext,
	}
}

// pair are two servers with the same handler: of net/http, and of this package.
type pair struct{ theirs, ours *listed }

func newPair(tb testing.TB) pair {
	p := pair{newListed(), newListed()}
	ctx, theirs, ours := tb.Context(), httpServer(echo), wire.New(httpServer(echo))
	var serving sync.WaitGroup
	serving.Go(func() { _ = theirs.Serve(p.theirs) })  // Waited for by the cleanup.
	serving.Go(func() { _ = ours.Serve(ctx, p.ours) }) // Waited for by the cleanup.
	tb.Cleanup(func() {
		_, _ = theirs.Close(), ours.Close()
		serving.Wait()
	})
	return p
}

// same sends a text to both servers, and compares the answers.
func (p pair) same(t *testing.T, text []byte) (answers []string) {
	t.Helper()
	var got [2][]string
	for i, l := range []*listed{p.theirs, p.ours} {
		c := record(text)
		l.conns <- c
		<-c.closed
		got[i] = answersIn(c.out.Bytes())
	}
	if diff := cmp.Diff(got[0], got[1]); diff != "" {
		t.Errorf("%q (-net/http +ours):\n%s", text, diff)
	}
	return got[1]
}

// answersIn lists the answers in a text, without their dates.
func answersIn(text []byte) (answers []string) {
	from := bufio.NewReader(bytes.NewReader(text))
	for {
		rsp, err := http.ReadResponse(from, nil)
		if err != nil {
			rest, _ := io.ReadAll(from)
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				answers = append(answers, fmt.Sprintf("%v %q", err, rest))
			}
			return answers
		}
		body, err := io.ReadAll(rsp.Body)
		_ = rsp.Body.Close() // it was read
		rsp.Header.Del("Date")
		answers = append(answers, fmt.Sprint(rsp.StatusCode, rsp.Header, rsp.Close, string(body), err))
	}
}

const plainRequest = "POST /check?timeout=10s HTTP/1.1\r\nHost: x:1\r\nContent-Type: application/json\r\nUser-Agent: kube\r\nAccept-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"

// head makes a request with other lines of the head, and a body of two bytes.
func head(lines ...string) string { return strings.Join(lines, "\r\n") + "\r\n\r\n{}" }

var requests = map[string]string{
	"plain":                              plainRequest,
	"two, pipelined":                     plainRequest + plainRequest,
	"an empty line between them":         plainRequest + "\r\n" + plainRequest,
	"five ends of lines between them":    plainRequest + "\n\n\n\n\n" + plainRequest,
	"an empty line before":               "\r\n" + plainRequest,
	"nothing":                            "",
	"half a head":                        plainRequest[:30],
	"half a body":                        plainRequest[:len(plainRequest)-1],
	"GET":                                "GET /x HTTP/1.1\r\nHost: x\r\n\r\n",
	"HEAD":                               "HEAD /x HTTP/1.1\r\nHost: x\r\n\r\n",
	"OPTIONS *":                          "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
	"CONNECT":                            "CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n",
	"HTTP/1.0":                           head("POST / HTTP/1.0", "Content-Length: 2"),
	"HTTP/1.0 that is kept":              head("POST / HTTP/1.0", "Connection: keep-alive", "Content-Length: 2") + plainRequest,
	"HTTP/2":                             "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	"HTTP/3":                             head("POST / HTTP/3.0", "Host: x", "Content-Length: 2"),
	"an absolute address":                head("POST http://y/a HTTP/1.1", "Host: x", "Content-Length: 2"),
	"no host":                            head("POST / HTTP/1.1", "Content-Length: 2"),
	"an empty host":                      head("POST / HTTP/1.1", "Host:", "Content-Length: 2"),
	"two hosts":                          head("POST / HTTP/1.1", "Host: x", "Host: y", "Content-Length: 2"),
	"a malformed host":                   head("POST / HTTP/1.1", "Host: x y", "Content-Length: 2"),
	"no length":                          "POST / HTTP/1.1\r\nHost: x\r\n\r\n" + plainRequest,
	"length 0":                           "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n" + plainRequest,
	"two equal lengths":                  head("POST / HTTP/1.1", "Host: x", "Content-Length: 2", "Content-Length: 2") + plainRequest,
	"two lengths":                        head("POST / HTTP/1.1", "Host: x", "Content-Length: 2", "Content-Length: 3") + plainRequest,
	"a list of lengths":                  head("POST / HTTP/1.1", "Host: x", "Content-Length: 2, 2"),
	"a signed length":                    head("POST / HTTP/1.1", "Host: x", "Content-Length: +2"),
	"a negative length":                  head("POST / HTTP/1.1", "Host: x", "Content-Length: -2"),
	"a huge length":                      head("POST / HTTP/1.1", "Host: x", "Content-Length: 99999999999999999999"),
	"chunks":                             "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + plainRequest,
	"chunks and a length":                "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + plainRequest,
	"an unknown encoding":                head("POST / HTTP/1.1", "Host: x", "Content-Length: 2", "Transfer-Encoding: gzip"),
	"a space before the colon":           head("POST / HTTP/1.1", "Host: x", "Transfer-Encoding : chunked", "Content-Length: 2"),
	"a continued line":                   head("POST / HTTP/1.1", "Host: x", "A: b", " c", "Content-Length: 2") + plainRequest,
	"a continued length":                 head("POST / HTTP/1.1", "Host: x", "Content-Length:", " 2") + plainRequest,
	"a continued first line":             head("POST / HTTP/1.1", " Host: x", "Content-Length: 2"),
	"no carriage returns":                strings.ReplaceAll(plainRequest, "\r", "") + plainRequest,
	"no carriage return at the end":      strings.Replace(plainRequest, "\r\n\r\n", "\n\n", 1) + plainRequest,
	"one carriage return at the end":     strings.Replace(plainRequest, "\r\n\r\n", "\n\r\n", 1) + plainRequest,
	"an end without, and another end":    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\n\n{}GET / HTTP/1.1\r\n\r\n",
	"carriage returns alone":             strings.ReplaceAll(plainRequest, "\n", ""),
	"a carriage return within":           head("POST / HTTP/1.1", "Host: x", "A: b\rc", "Content-Length: 2"),
	"a zero byte":                        head("POST / HTTP/1.1", "Host: x", "A: b\x00c", "Content-Length: 2"),
	"a bad name":                         head("POST / HTTP/1.1", "Host: x", "A B: c", "Content-Length: 2"),
	"an empty name":                      head("POST / HTTP/1.1", "Host: x", ": c", "Content-Length: 2"),
	"expecting 100":                      head("POST / HTTP/1.1", "Host: x", "Expect: 100-continue", "Content-Length: 2") + plainRequest,
	"expecting something":                head("POST / HTTP/1.1", "Host: x", "Expect: more", "Content-Length: 2"),
	"Connection: close":                  head("POST / HTTP/1.1", "Host: x", "Connection: close", "Content-Length: 2") + plainRequest,
	"Connection: keep-alive":             head("POST / HTTP/1.1", "Host: x", "Connection: keep-alive", "Content-Length: 2") + plainRequest,
	"an upgrade":                         head("POST / HTTP/1.1", "Host: x", "Connection: Upgrade", "Upgrade: h2c", "Content-Length: 2"),
	"a trailer":                          head("POST / HTTP/1.1", "Host: x", "Trailer: A", "Content-Length: 2") + plainRequest,
	"headers twice":                      head("POST / HTTP/1.1", "Host: x", "a: 1", "A: 2", "Pragma: no-cache", "Content-Length: 2") + plainRequest,
	"a bad address":                      head("POST /%zz HTTP/1.1", "Host: x", "Content-Length: 2"),
	"two slashes":                        head("POST //y/z HTTP/1.1", "Host: x", "Content-Length: 2"),
	"a bad first line":                   head("POST / HTTP/1.1 x", "Host: x", "Content-Length: 2"),
	"a handshake of TLS":                 "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
	"a long head":                        head("POST / HTTP/1.1", "Host: x", "A: "+strings.Repeat("b", 5000), "Content-Length: 2") + plainRequest,
	"a head that is too long":            head("POST / HTTP/1.1", "Host: x", "A: "+strings.Repeat("b", 50000), "Content-Length: 2"),
	"a head as long as the reader":       head("POST / HTTP/1.1", "Host: x", "A: "+strings.Repeat("b", 4096-50), "Content-Length: 2"),
	"a long body":                        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n" + strings.Repeat("x", 50000) + plainRequest,
	"a plain request, then a GET, again": plainRequest + "GET /x HTTP/1.1\r\nHost: x\r\n\r\n" + plainRequest,
	"a plain request, then garbage":      plainRequest + "garbage\r\n\r\n",
	"a plain request, then half a head":  plainRequest + plainRequest[:30],
	"a plain request, then three bytes":  plainRequest + "000",
	"ends of lines, then three bytes":    plainRequest + "\n\r000",
}

// TestRequests: requests of all kinds are answered as net/http answers them.
func TestRequests(t *testing.T) {
	p := newPair(t)
	for name, text := range requests {
		t.Run(name, func(t *testing.T) { p.same(t, []byte(text)) })
	}
	if got := p.same(t, []byte(plainRequest+plainRequest)); len(got) != 2 || !strings.HasPrefix(got[1], "200") {
		t.Errorf("two plain requests have the answers %q", got)
	}
}

// FuzzRequests: whatever a client sends, handlers see what they see with net/http.
func FuzzRequests(f *testing.F) {
	for _, text := range requests {
		f.Add([]byte(text))
	}
	p := newPair(f)
	f.Fuzz(func(t *testing.T, text []byte) { p.same(t, text) })
}
