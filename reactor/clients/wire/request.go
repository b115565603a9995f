package wire

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// maxRequest limits the bodies of requests, in bytes. The server may answer larger ones before it
// has read them, so they need a goroutine that reads meanwhile.
const maxRequest = 64 << 10

// sends reports whether the transport sends a request itself: one to its server, with a short body
// of a known length and usual headers.
func (t *Transport) sends(r *http.Request) bool {
	u := r.URL
	switch {
	case u == nil || u.Scheme != t.scheme || u.Host != t.host || u.Opaque != "" || r.Host != "" && r.Host != t.host:
		return false
	case r.Close || r.TransferEncoding != nil || r.Trailer != nil || r.Cancel != nil: //nolint:staticcheck // others may set it
		return false
	case r.ContentLength < 0 || r.ContentLength > maxRequest || (r.ContentLength > 0) != (r.Body != nil && r.Body != http.NoBody):
		return false
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return areUsual(r.Header)
	}
	return false
}

// areUsual reports whether headers are valid, and say nothing about the connection.
func areUsual(header http.Header) bool {
	if len(header["User-Agent"]) != 1 {
		return false
	}
	for name, values := range header {
		switch name {
		case "Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
			return false
		}
		if !httpguts.ValidHeaderFieldName(name) {
			return false
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) {
				return false
			}
		}
	}
	return true
}

// isPlain reports whether net/http would send a host unchanged.
func isPlain(host string) bool {
	return httpguts.ValidHostHeader(host) && !strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '%' })
}

// format writes a request that the transport sends.
func (t *Transport) format(to *bytes.Buffer, r *http.Request) error {
	target := r.URL.RequestURI()
	if strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("the path %q has characters that a request cannot have", target)
	}
	for _, part := range []string{r.Method, " ", target, " HTTP/1.1\r\nHost: ", t.host, "\r\n"} {
		to.WriteString(part)
	}
	for name, values := range r.Header {
		for _, value := range values {
			for _, part := range []string{name, ": ", strings.Trim(value, " \t"), "\r\n"} {
				to.WriteString(part)
			}
		}
	}
	if r.ContentLength > 0 || r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch {
		to.WriteString("Content-Length: ")
		to.Write(strconv.AppendInt(to.AvailableBuffer(), r.ContentLength, 10))
		to.WriteString("\r\n")
	}
	to.WriteString("\r\n")
	if r.ContentLength == 0 {
		return nil
	}
	n, err := to.ReadFrom(io.LimitReader(r.Body, r.ContentLength+1))
	if err == nil && n != r.ContentLength {
		err = fmt.Errorf("the body of the request has another length than %d", r.ContentLength)
	}
	return err
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}
