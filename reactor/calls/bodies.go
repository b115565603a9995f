package calls

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
)

// bodyOf returns the bytes of a request body. A JSON string is sent as its text, any other
// JSON value unchanged.
func bodyOf(call *abi.Call, limit int) ([]byte, error) {
	body := []byte(call.Body)
	isText := len(body) > 0 && body[0] == '"'
	if isText {
		var text string
		if err := json.Unmarshal(body, &text); err != nil {
			return nil, invalid("the body: %v", err)
		}
		body = []byte(text)
	}
	switch {
	case call.Encoding == abi.EncodingBase64 && (isText || len(body) == 0):
		decoded, err := base64.StdEncoding.DecodeString(string(body))
		if err != nil {
			return nil, invalid("the body is not base64: %v", err)
		}
		body = decoded
	case call.Encoding != "":
		return nil, invalid("the encoding of a body can be %s, of a string, or none; not %q", abi.EncodingBase64, shown(call.Encoding))
	}
	if len(body) > limit {
		return nil, &refusal{abi.CallTooLarge, fmt.Sprintf("the body of the request has %d bytes; the limit is %d", len(body), limit)}
	}
	return body, nil
}

// keptHeaders are the response headers that guests get.
var keptHeaders = []string{"Content-Type", "Retry-After", "Warning"}

// readResponse makes the response of a call. A body above the limit is an error. What has arrived is held: a server can send the rest as
// late as it likes, and an operator can wait for the time to decode it.
func (c *Caller) readResponse(ctx context.Context, call *abi.Call, rsp *http.Response, held *accounts.Lease) (*abi.Response, error) {
	if err := held.Grow(HeaderBytes(rsp.Header)); err != nil {
		return nil, err
	}
	limit := c.options.MaxResponse
	most := limit
	_, isZipped := rsp.Body.(zipped)
	if isZipped {
		most = zippedSize(limit)
	}
	data, err := io.ReadAll(io.LimitReader(counted{rsp.Body, held}, int64(most)+1))
	if err == nil && isZipped {
		c.compute(ctx, limit, func() { data, err = unzip(data, limit, held) })
	}
	if errors.Is(err, accounts.ErrLimit) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: the answer is broken: %w", call.Method, shown(call.Path), err)
	}
	if len(data) > limit {
		message := fmt.Sprintf("%s %s: the answer has more than %d bytes", call.Method, shown(call.Path), limit)
		if call.Target == abi.TargetKubernetes {
			message += ": list it in pages, with limit and continue"
		}
		return nil, &refusal{abi.CallTooLarge, message}
	}
	answer := &abi.Response{Status: rsp.StatusCode, Headers: rsp.Header}
	if call.Target == abi.TargetKubernetes {
		answer.Headers = map[string][]string{}
		for _, name := range keptHeaders {
			if values := rsp.Header.Values(name); len(values) > 0 {
				answer.Headers[name] = values
			}
		}
	}
	contentType := rsp.Header.Get("Content-Type")
	if call.Verbatim {
		contentType = "" // the spaces of JSON would be lost
	}
	c.compute(ctx, len(data), func() {
		if call.Target == abi.TargetKubernetes && strings.HasPrefix(contentType, "text/") {
			data = bytes.ToValidUTF8(data, []byte("\uFFFD")) // a log may be cut within a character, and is a text nevertheless
		}
		answer.Body, answer.Encoding, err = encodeBody(data, contentType)
	})
	return answer, err
}

// counted is a reader whose bytes are held.
type counted struct {
	io.Reader
	held *accounts.Lease
}

// Read reads, and counts what was read.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if scarce := c.held.Grow(n); scarce != nil {
		return n, scarce
	}
	return n, err
}

// headerSize is the memory of a value of a header in addition to its texts, with the copy that is sent, in bytes.
const headerSize = 160

// HeaderBytes is the memory of headers.
func HeaderBytes(headers map[string][]string) (size int) {
	for name, values := range headers {
		size += max(1, len(values)) * (headerSize + len(name))
		for _, value := range values {
			size += len(value)
		}
	}
	return size
}

// encodeBody encodes a body for a message: JSON unchanged, except strings; other texts as
// strings; anything else as base64.
func encodeBody(data []byte, contentType string) (abi.Raw, string, error) {
	if len(data) == 0 {
		return nil, "", nil
	}
	if trimmed := bytes.TrimSpace(data); isJSON(contentType) && len(trimmed) > 0 && trimmed[0] != '"' && json.Valid(trimmed) && utf8.Valid(trimmed) {
		if cap(trimmed) > 2*len(trimmed) { // it is the answer that counts from now on
			trimmed = bytes.Clone(trimmed)
		}
		return trimmed, "", nil
	}
	encoding, text := "", string(data)
	if !utf8.Valid(data) {
		encoding, text = abi.EncodingBase64, base64.StdEncoding.EncodeToString(data)
	}
	written, err := json.Marshal(text)
	return written, encoding, err
}

func isJSON(contentType string) bool {
	parsed, _, err := mime.ParseMediaType(contentType)
	return err == nil && (parsed == "application/json" || strings.HasSuffix(parsed, "+json"))
}
