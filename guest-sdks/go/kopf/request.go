package kopf

import (
	"context"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/jsonlite"
)

// Header are the headers of a request or a response, by their names as in
// "Content-Type".
type Header = map[string][]string

// Request is a request to an HTTP server, see Call.Fetch.
type Request struct {
	URL    string
	Method string // GET if it is empty, POST if there is a body
	Header Header

	// Body is sent unchanged if it is a string or bytes; anything else as JSON.
	Body any

	// Timeout is for the whole request; the host has a limit of its own.
	Timeout time.Duration
}

// Response is the answer of an HTTP server, whatever its status.
type Response struct {
	Status int
	Header Header
	Body   []byte
}

// JSON is a view of the body.
func (r *Response) JSON() View { return JSON(r.Body) }

// Fetch makes a request to an HTTP server and waits for the whole answer; other
// tasks continue meanwhile. The host must be granted to the operator, see Want.
//
//	rsp, err := c.Fetch(kopf.Request{URL: "https://api.example.com/v1/things"})
//
// Errors: a RequestError if there is no answer. A status is not an error.
func (c *Call) Fetch(r Request) (*Response, error) { return fetch(c.task, r) }

// Fetch is Call.Fetch for functions that get the context of a handler, or one that is derived from
// it. The deadline of the context limits the request, as Request.Timeout does.
//
// Errors: that of the context if it is over; a RequestError if there is no answer, or if the
// context is not that of a handler.
func Fetch(ctx context.Context, r Request) (*Response, error) {
	t, err := taskOf(ctx)
	if err != nil {
		return nil, err
	}
	if left, ok := left(ctx); ok && (r.Timeout <= 0 || left < r.Timeout) {
		r.Timeout = left
	}
	return fetch(t, r)
}

// left is the time until the deadline of a context. It is never zero, which would be no limit.
func left(ctx context.Context) (time.Duration, bool) {
	deadline, ok := ctx.Deadline()
	return max(time.Until(deadline), time.Millisecond), ok
}

// taskOf is the task that a context was made for.
func taskOf(ctx context.Context) (*guest.Task, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := guest.FromContext(ctx)
	if t == nil {
		return nil, &RequestError{Code: RequestInvalid, Message: "the context is not that of a handler: see Call.Context", kind: abi.ErrorPermanent}
	}
	return t, nil
}

func fetch(t *guest.Task, r Request) (*Response, error) {
	body, encoding, contentType, err := bodyOf(r.Body)
	if err != nil {
		return nil, err
	}
	call := &abi.Call{Target: abi.TargetHTTP, Method: r.Method, Path: r.URL, Headers: r.Header, Body: body, Encoding: encoding}
	if call.Method == "" {
		call.Method = "GET"
		if body != nil {
			call.Method = "POST"
		}
	}
	if contentType != "" && !isSaid(r.Header, "Content-Type") {
		call.Headers = Header{"Content-Type": {contentType}}
		for name, values := range r.Header {
			call.Headers[name] = values
		}
	}
	if r.Timeout > 0 {
		call.Timeout = secondsOf(r.Timeout)
	}
	return request(t, call)
}

// isSaid tells whether there is a header, whatever the case of its name.
func isSaid(headers Header, name string) bool {
	for other, values := range headers {
		if len(values) > 0 && strings.EqualFold(other, name) {
			return true
		}
	}
	return false
}

// request hands a request to the host and waits for the answer.
func request(t *guest.Task, call *abi.Call) (*Response, error) {
	answer := t.Request(call)
	switch {
	case answer.Error != nil:
		return nil, &RequestError{Code: answer.Error.Type, Message: answer.Error.Message, kind: answer.Error.Kind}
	case answer.Response == nil: // the task is cancelled
		return nil, &RequestError{Code: RequestCancelled, Message: "the request was abandoned", kind: abi.ErrorArbitrary}
	}
	rsp := &Response{Status: answer.Response.Status, Header: answer.Response.Headers, Body: answer.Response.Body}
	if jsonlite.KindOf(rsp.Body) == jsonlite.String {
		text := jsonlite.Unquote(rsp.Body)
		if answer.Response.Encoding != abi.EncodingBase64 {
			rsp.Body = []byte(text)
		} else {
			data, err := jsonlite.DecodeBase64(text)
			if err != nil {
				return nil, err
			}
			rsp.Body = data
		}
	}
	return rsp, nil
}

// bodyOf is a body as a message has it: texts as strings, other bytes in base64,
// anything else as JSON.
func bodyOf(body any) (text abi.Raw, encoding, contentType string, err error) {
	switch body := body.(type) {
	case nil:
	case string:
		text = jsonlite.AppendString(nil, body)
	case []byte:
		encoding = abi.EncodingBase64
		text = jsonlite.AppendString(nil, jsonlite.EncodeBase64(body))
	default:
		contentType = "application/json"
		if text, err = Encode(body); err == nil && text[0] == '"' {
			text = jsonlite.AppendString(nil, string(text)) // a JSON string is sent as JSON
		}
	}
	return text, encoding, contentType, err
}

// Codes of requests without an answer.
const (
	RequestNotGranted  = abi.CallNotGranted  // the administrator has not granted it
	RequestInvalid     = abi.CallInvalid     // no request can be made of it
	RequestReadOnly    = abi.CallReadOnly    // nothing may be written now: in a dry run, for example
	RequestTooLarge    = abi.CallTooLarge    // the request or the answer is over a limit
	RequestNotReady    = abi.CallNotReady    // there is no connection to the cluster yet
	RequestTimeout     = abi.CallTimeout     // no answer in time
	RequestUnreachable = abi.CallUnreachable // no connection, or a broken one
	RequestCancelled   = abi.CallCancelled   // the handler was cancelled meanwhile
)

// RequestError is a request without an answer. Returned from a handler, it is a
// permanent error where another attempt would not help, as if it is malformed. One that is not
// granted is tried again: the operator may be started with the grant.
type RequestError struct {
	Code    string // one of the constants Request…
	Message string

	kind abi.ErrorKind
}

// Error is the message of the host.
func (e *RequestError) Error() string { return e.Message }

// Is lets errors.Is find context.DeadlineExceeded in a timeout, and context.Canceled in a request of a handler
// that was cancelled.
func (e *RequestError) Is(target error) bool {
	switch e.Code {
	case RequestTimeout:
		return target == context.DeadlineExceeded
	case RequestCancelled:
		return target == context.Canceled
	}
	return false
}
