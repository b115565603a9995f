package calls

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"

	"github.com/kopf-wasm/kopf/internal/accounts"
)

// compressed asks HTTP servers for compressed bodies as http.Transport does, but leaves what they send as it is: to decompress is
// computing of the operator, and a body of 4 KiB can become 4 MiB.
type compressed struct{ http.RoundTripper }

// zipped is a body in gzip that the guest gets decompressed.
type zipped struct{ io.ReadCloser }

// CloseIdleConnections closes those of the transport, for http.Client.
func (c compressed) CloseIdleConnections() { closeIdle(c.RoundTripper) }

// RoundTrip implements http.RoundTripper.
func (c compressed) RoundTrip(req *http.Request) (*http.Response, error) {
	const accept, encoding, kind = "Accept-Encoding", "Content-Encoding", "gzip"
	if req.Header.Get(accept) != "" || req.Header.Get("Range") != "" || req.Method == http.MethodHead {
		return c.RoundTripper.RoundTrip(req)
	}
	asking := req.Clone(req.Context())
	asking.Header.Set(accept, kind)
	rsp, err := c.RoundTripper.RoundTrip(asking)
	if err != nil || !strings.EqualFold(rsp.Header.Get(encoding), kind) {
		return rsp, err
	}
	rsp.Header.Del(encoding)
	rsp.Header.Del("Content-Length")
	rsp.ContentLength, rsp.Uncompressed, rsp.Body = -1, true, zipped{rsp.Body}
	return rsp, nil
}

func closeIdle(t http.RoundTripper) {
	if closes, ok := t.(interface{ CloseIdleConnections() }); ok {
		closes.CloseIdleConnections()
	}
}

// unzip decompresses a body, and at most one byte more than the limit. Nothing stays nothing, as with http.Transport.
func unzip(data []byte, limit int, held *accounts.Lease) ([]byte, error) {
	if len(data) == 0 {
		return nil, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(counted{reader, held}, int64(limit)+1))
}

// zippedSize is what a body that is as large as a limit can have in gzip, in bytes.
func zippedSize(limit int) int { return limit + limit/100 + 1<<10 }
