package webhooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/reviews"
)

// Limits bound what requests may cost. The zero value works.
type Limits struct {
	// Body bounds a request, in bytes. Two objects of the largest size that the API
	// server takes (3 MiB) fit. Default: 8 MiB.
	Body int64

	// Concurrent bounds the requests that are read and handled at once. More of
	// them wait for their turn until their time is over. Default: 256.
	Concurrent int

	// Conversion and Conversions bound requests for conversions in the same ways:
	// all objects of a listing may be in one. Defaults: 64 MiB, 8.
	Conversion  int64
	Conversions int

	// Timeout bounds a request that does not say how long its sender waits; longer
	// ones are cut to it. Default: 30 seconds, the longest of Kubernetes.
	Timeout time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.Body == 0 {
		l.Body = 8 << 20
	}
	if l.Concurrent == 0 {
		l.Concurrent = 256
	}
	if l.Conversion == 0 {
		l.Conversion = 64 << 20
	}
	if l.Conversions == 0 {
		l.Conversions = 8
	}
	if l.Timeout == 0 {
		l.Timeout = 30 * time.Second
	}
	return l
}

// Handler answers reviews. Its Wait is to be called at the end.
type Handler struct {
	operator Operator
	limits   Limits
	log      zerolog.Logger
	slots    chan struct{}
	large    chan struct{}  // slots of conversions
	running  sync.WaitGroup // reviews, also those whose senders were answered already
}

// NewHandler makes the handler of all requests for an operator.
func NewHandler(operator Operator, limits Limits, log zerolog.Logger) *Handler {
	limits = limits.withDefaults()
	return &Handler{operator: operator, limits: limits, log: log, slots: make(chan struct{}, limits.Concurrent), large: make(chan struct{}, limits.Conversions)}
}

// Wait waits until all handlers have ended.
func (h *Handler) Wait() { h.running.Wait() }

// ServeHTTP answers one request, always before its sender gives up.
//
// The handlers have a goroutine of their own: an answer over HTTP/2 is not whole before
// this function returns, and they may go on for a while after their time is over.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := h.withDeadline(r.Context(), r.URL.Query().Get("timeout"))
	defer cancel()
	slots, limit, answerTo := h.slots, h.limits.Body, h.answer
	if r.URL.Path == "/"+conversionID {
		slots, limit, answerTo = h.large, h.limits.Conversion, func(ctx context.Context, _ *http.Request, body []byte) answer { return h.convert(ctx, body) }
	}
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		h.write(w, r, failed(errBusy))
		return
	}
	body, err := h.read(ctx, w, r, limit)
	if err != nil {
		<-slots
		h.write(w, r, failed(err))
		return
	}
	answered := make(chan answer, 1)
	h.running.Go(func() { // Waited for by Wait.
		defer func() { <-slots }()
		answered <- answerTo(ctx, r, body)
	})
	select {
	case a := <-answered:
		h.write(w, r, a)
	case <-ctx.Done():
		h.write(w, r, failed(context.Cause(ctx)))
	}
}

// errBusy is told to whom no slot became free.
var errBusy = errors.New("too many reviews are under way")

// answer is what is sent back: text if it is an error.
type answer struct {
	code int
	body []byte
	err  error
}

func failed(err error) answer {
	a := answer{code: http.StatusInternalServerError, err: err}
	var bad *reviews.Error
	if errors.As(err, &bad) {
		a.code = bad.Code
	}
	a.body = fmt.Appendf(nil, "%d: %s", a.code, err)
	if errors.Is(err, reviews.ErrNotObject) { // in the words of the reference's server
		a.body = []byte("500 Internal Server Error\n\nServer got itself in trouble")
	}
	return a
}

func (h *Handler) write(w http.ResponseWriter, r *http.Request, a answer) {
	kind := "application/json; charset=utf-8"
	if a.err != nil {
		kind = "text/plain; charset=utf-8"
		h.log.Warn().Msg(fmt.Sprintf("A review for %q cannot be answered: %v", r.URL.Path, a.err))
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(a.code)
	_, _ = w.Write(a.body) // whoever has asked may be gone
}

// withDeadline ends the context a little before the sender gives up, as the API
// server says in the query.
func (h *Handler) withDeadline(ctx context.Context, wanted string) (context.Context, context.CancelFunc) {
	timeout := h.limits.Timeout
	if said, err := time.ParseDuration(wanted); err == nil && said > 0 {
		timeout = min(timeout, said)
	}
	left := timeout - min(timeout/10, time.Second)
	return context.WithTimeoutCause(ctx, left, lateError{left, timeout})
}

// lateError is the cause of a request whose time is over.
type lateError struct{ left, timeout time.Duration }

func (e lateError) Error() string {
	return fmt.Sprintf("the handlers took longer than %v, and the API server waits for %v", e.left, e.timeout)
}

// read reads a request that may be a review, until its time is over.
func (h *Handler) read(ctx context.Context, w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.Method != http.MethodPost {
		return nil, &reviews.Error{Code: http.StatusMethodNotAllowed, Message: "Method Not Allowed"}
	}
	if said := r.Header.Get("Content-Type"); said != "" && said != "application/json" {
		if kind, _, err := mime.ParseMediaType(said); err != nil || kind != "application/json" {
			return nil, &reviews.Error{Code: http.StatusUnsupportedMediaType, Message: fmt.Sprintf("The content type is %q, not application/json.", said)}
		}
	}
	control := http.NewResponseController(w)
	if deadline, ok := ctx.Deadline(); ok {
		_ = control.SetReadDeadline(deadline) // servers that have none have limits of their own
	}
	body, err := readAll(http.MaxBytesReader(w, r.Body, limit), r.ContentLength)
	if err == nil { // from now on, the connection is watched for its end, and a deadline would be taken for that
		_ = control.SetReadDeadline(time.Time{})
	}
	var large *http.MaxBytesError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &reviews.Error{Code: http.StatusRequestTimeout, Message: "The review has not come in time."}
	case errors.As(err, &large):
		return nil, &reviews.Error{Code: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("The review is larger than %d bytes.", large.Limit)}
	case err != nil:
		return nil, &reviews.Error{Code: http.StatusBadRequest, Message: fmt.Sprintf("The review cannot be read: %v", err)}
	}
	return body, nil
}

// readAll reads a body of a length that its sender says, which is believed as far as
// it costs little.
func readAll(body io.Reader, said int64) ([]byte, error) {
	var text bytes.Buffer
	text.Grow(int(min(max(said, 0), believed)) + bytes.MinRead) // the room in which the end is seen
	_, err := text.ReadFrom(body)
	return text.Bytes(), err
}

// believed is how much memory a request gets before it has sent anything.
const believed = 64 << 10

func (h *Handler) answer(ctx context.Context, r *http.Request, body []byte) answer {
	response, err := h.review(ctx, r, body)
	if err != nil {
		return failed(err)
	}
	return answer{code: http.StatusOK, body: response}
}

// review asks the operator.
func (h *Handler) review(ctx context.Context, r *http.Request, body []byte) ([]byte, error) {
	request, err := reviews.Decode(body)
	if err != nil {
		return nil, err
	}
	incoming := &reviews.Incoming{
		Request: request, Webhook: strings.TrimPrefix(r.URL.Path, "/"), Headers: headersOf(r), SSLPeer: peerOf(r.TLS),
	}
	verdict, err := h.operator.Review(ctx, incoming)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	answered := Request{APIVersion: request.APIVersion, Kind: request.Kind, UID: request.UID}
	return Respond(answered, verdict.Failures, verdict.Warnings, verdict.Patch)
}

// headersOf are the headers as they were received.
func headersOf(r *http.Request) map[string][]string {
	headers := map[string][]string{"Host": {r.Host}}
	for name, values := range r.Header {
		headers[name] = values
	}
	return headers
}
