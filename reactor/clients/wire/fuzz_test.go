package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// FuzzResponses compares responses with those that net/http reads from the same bytes.
func FuzzResponses(f *testing.F) {
	for _, answer := range []string{
		plain, plain + plain, "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n{}", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}", "HTTP/1.1 101 x\r\nUpgrade: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2;a=b\r\n{}\r\n0\r\nX: y\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\nLink: x\r\n\r\n" + plain,
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 0\r\n\r\n",
	} {
		f.Add([]byte(answer), uint8(1))
		f.Add([]byte(answer), uint8(255))
	}
	f.Fuzz(func(t *testing.T, answer []byte, piece uint8) {
		if len(answer) > maxHead/2 {
			t.Skip() // net/http has another limit
		}
		of := func(over func(through *http.Transport) http.RoundTripper) string {
			through := &http.Transport{DisableCompression: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
				return &recorded{answer: bytes.NewReader(answer), piece: int(piece) + 1, begun: make(chan struct{})}, nil
			}}
			defer through.CloseIdleConnections()
			return outcome(t, over(through))
		}
		theirs := of(func(through *http.Transport) http.RoundTripper { return through })
		ours := of(func(through *http.Transport) http.RoundTripper { return &direct{through: through} })
		if ours != theirs {
			t.Errorf("%q:\ngot  %s\nwant %s", answer, ours, theirs)
		}
	})
}

// outcome describes the response to a request.
func outcome(t *testing.T, rt http.RoundTripper) string {
	t.Helper()
	rsp, err := rt.RoundTrip(request(t, t.Context(), http.MethodPatch, "http://server/x", "{}"))
	if err != nil {
		return "failed"
	}
	if rsp.StatusCode == http.StatusSwitchingProtocols {
		rsp.Body.Close()
		return "failed" // no request asks for that
	}
	text, err := io.ReadAll(rsp.Body)
	rsp.Body.Close()
	return fmt.Sprint(rsp.Status, rsp.Proto, rsp.Header, rsp.ContentLength, rsp.TransferEncoding, rsp.Close, rsp.Uncompressed, fmt.Sprintf("%q", text), rsp.Trailer, err != nil)
}

// direct sends each request over a connection of its own.
type direct struct{ through *http.Transport }

func (d *direct) RoundTrip(r *http.Request) (*http.Response, error) {
	c, err := d.through.DialContext(r.Context(), "", "")
	if err != nil {
		return nil, err
	}
	own := &Transport{through: d.through, scheme: "http", host: r.URL.Host}
	e := &exchange{t: own, c: &conn{Conn: c, socket: &socket{Conn: c}}, ctx: r.Context()}
	return e.run(r, nil)
}

// recorded is a connection that answers the first request by given bytes, and ends.
type recorded struct {
	net.Conn
	answer *bytes.Reader
	piece  int // how much is read at once
	asked  sync.Once
	begun  chan struct{} // closed when there is a request, or the connection is closed
}

func (r *recorded) begin() { r.asked.Do(func() { close(r.begun) }) }

func (r *recorded) Read(p []byte) (int, error) {
	<-r.begun
	return r.answer.Read(p[:min(len(p), r.piece)])
}

func (r *recorded) Write(p []byte) (int, error) {
	r.begin()
	return len(p), nil
}

func (r *recorded) Close() error {
	r.begin()
	return nil
}

func (*recorded) SetDeadline(time.Time) error { return nil }
