package wire

import (
	"bufio"
	"bytes"
	"net/http"
	"sync"

	"golang.org/x/net/http/httpguts"
)

// parser reads one head.
type parser struct {
	text bytes.Reader
	in   *bufio.Reader
}

var parsers = sync.Pool{New: func() any { return &parser{in: bufio.NewReaderSize(nil, headSize)} }}

// plain returns the request of a head; nil if net/http has to decide about it.
func plain(head []byte) *http.Request {
	if len(head) == 0 {
		return nil
	}
	p := parsers.Get().(*parser)
	defer parsers.Put(p)
	p.text.Reset(head)
	p.in.Reset(&p.text)
	r, err := http.ReadRequest(p.in)
	if err != nil || p.in.Buffered()+p.text.Len() > 0 { // the head of net/http is shorter
		return nil
	}
	isPost := r.Method == http.MethodPost && r.ProtoMajor == 1 && r.ProtoMinor == 1 && r.RequestURI[0] == '/'
	hasLength := r.ContentLength > 0 && len(r.TransferEncoding) == 0 && len(r.Header["Content-Length"]) == 1
	if !isPost || !hasLength || r.Host == "" || !httpguts.ValidHostHeader(r.Host) {
		return nil
	}
	for name, values := range r.Header {
		switch name {
		case "Connection", "Expect", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
			return nil
		}
		if !httpguts.ValidHeaderFieldName(name) {
			return nil
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) {
				return nil
			}
		}
	}
	return r
}
