package webhooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/conns"
	"github.com/kopf-wasm/kopf/reactor/reviews"
)

// Limits bound what requests may cost. The zero value works.
type Limits struct {
	// Body bounds a request, in bytes. Two objects of the largest size that the API
	// server takes (3 MiB) fit. Default: 8 MiB. It bounds an object of a conversion, too.
	Body int64

	// Concurrent bounds the requests that are handled at once, in slots: one slot for
	// each 32 KiB of a request, at most three quarters of all. A request takes its
	// slots when it has been read, or waits for them until its time is over.
	// Default: 256.
	Concurrent int

	// Conversion and Conversions bound requests for conversions: all objects of a
	// listing may be in one. Defaults: 64 MiB, 8 requests at once.
	Conversion  int64
	Conversions int

	// Memory bounds the bodies of all admission reviews from their first bytes to their answers, and
	// those of all conversions once more, in bytes. When it is full, bodies that are still
	// coming make room: the oldest one of the client that has most. Default: 128 MiB.
	Memory int64

	// ReadTimeout bounds the time in which the body of a request comes. The request's own
	// time bounds it, too. Default: 10 seconds.
	ReadTimeout time.Duration

	// Timeout bounds a request that does not say how long its sender waits; longer
	// ones are cut to it. Default: 30 seconds, the longest of Kubernetes.
	Timeout time.Duration

	// Connections bound the connections of the servers of this package: in all, of one
	// address, and those that have not brought a review. Defaults: 2,048, and half of
	// that each; a quarter of it has not brought a review if clients must have
	// certificates.
	Connections conns.Limits
}

func (l Limits) withDefaults() Limits {
	l.Body = cmp.Or(l.Body, 8<<20)
	l.Concurrent = cmp.Or(l.Concurrent, 256)
	l.Conversion = cmp.Or(l.Conversion, 64<<20)
	l.Conversions = cmp.Or(l.Conversions, 8)
	l.Memory = cmp.Or(l.Memory, 128<<20)
	l.ReadTimeout = cmp.Or(l.ReadTimeout, 10*time.Second)
	l.Timeout = cmp.Or(l.Timeout, 30*time.Second)
	return l
}

// slotBytes is how much of a request one slot is for: decoded, it may take 100 times
// as much memory.
const slotBytes = 32 << 10

// Handler answers reviews. Its Wait is to be called at the end.
type Handler struct {
	operator    Operator
	limits      Limits
	log         *complaints
	reviews     lane
	conversions lane
	objects     *slots         // of conversions, while they are converted
	running     sync.WaitGroup // reviews, also those whose senders were answered already
}

// lane are the bounds for requests of one kind.
type lane struct {
	limit    int64 // of a body
	memory   *memory
	slots    *slots
	weighted bool // large ones take several slots
}

// NewHandler makes the handler of all requests for an operator.
func NewHandler(operator Operator, limits Limits, log zerolog.Logger) *Handler {
	limits = limits.withDefaults()
	return &Handler{
		operator: operator, limits: limits, log: newComplaints(log),
		reviews:     lane{limits.Body, newMemory(limits.Memory), newSlots(limits.Concurrent), true},
		conversions: lane{limits.Conversion, newMemory(limits.Memory), newSlots(limits.Conversions), false},
		objects:     newSlots(limits.Concurrent),
	}
}

// weight is how many slots so many bytes take.
func (s *slots) weight(size int) int { return min(1+size/slotBytes, max(1, s.all*3/4)) }

// Wait waits until all handlers have ended.
func (h *Handler) Wait() { h.running.Wait() }

// ServeHTTP answers one request, always before its sender gives up.
//
// The handlers have a goroutine of their own: an answer is not whole before this function
// returns, and they may continue for a while after their time is over.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := h.withDeadline(r.Context(), r.URL.Query().Get("timeout"))
	defer cancel()
	lane, answerTo := &h.reviews, h.answer
	if r.URL.Path == "/"+conversionID {
		lane, answerTo = &h.conversions, h.convert
	}
	body, text, err := h.read(ctx, w, r, lane)
	if err != nil {
		h.write(w, r, failed(err))
		return
	}
	weight := 1
	if lane.weighted {
		weight = lane.slots.weight(len(text))
	}
	h.write(w, r, h.handle(ctx, r, lane.slots, weight, body, func() answer { return answerTo(ctx, r, text) }))
}

// handle waits for slots, and for an answer, until the request's time is over.
func (h *Handler) handle(ctx context.Context, r *http.Request, slots *slots, weight int, body *body, do func() answer) answer {
	request := conns.Begin(ctx)
	defer request.End()
	give, err := slots.take(ctx, conns.AddressOf(r.RemoteAddr), weight)
	if err != nil {
		body.release()
		return failed(err)
	}
	request.Run()
	answered := make(chan answer, 1)
	h.running.Go(func() { // Waited for by Wait.
		defer give()
		defer body.release()
		answered <- do()
	})
	select {
	case a := <-answered:
		return a
	case <-ctx.Done():
		return failed(context.Cause(ctx))
	}
}

// reason groups errors for the log.
func (a answer) reason() string {
	var late lateError
	switch {
	case errors.As(a.err, &late):
		return "late"
	case errors.Is(a.err, errBusy):
		return "busy"
	}
	return strconv.Itoa(a.code)
}

// errBusy is the answer to requests that no slot became free for.
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
		var bad *reviews.Error
		if errors.As(a.err, &bad) && bad.Code != http.StatusNotFound { // whoever sends nonsense has to shake hands again
			w.Header().Set("Connection", "close")
		}
		h.log.warn(a.reason(), fmt.Sprintf("A review for %q cannot be answered: %v", cut(r.URL.Path), a.err))
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

// read reads a request that may be a review. The body is to be released if there is no error.
func (h *Handler) read(ctx context.Context, w http.ResponseWriter, r *http.Request, lane *lane) (*body, []byte, error) {
	if r.Method != http.MethodPost {
		return nil, nil, &reviews.Error{Code: http.StatusMethodNotAllowed, Message: "Method Not Allowed"}
	}
	if said := r.Header.Get("Content-Type"); said != "" && said != "application/json" {
		if kind, _, err := mime.ParseMediaType(said); err != nil || kind != "application/json" {
			return nil, nil, &reviews.Error{Code: http.StatusUnsupportedMediaType, Message: fmt.Sprintf("The content type is %q, not application/json.", cut(said))}
		}
	}
	control := http.NewResponseController(w)
	late := time.Now().Add(h.limits.ReadTimeout)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(late) {
		late = deadline
	}
	_ = control.SetReadDeadline(late) // servers that have none have limits of their own
	body, err := lane.memory.begin(conns.AddressOf(r.RemoteAddr), func() { _ = control.SetReadDeadline(time.Unix(1, 0)) })
	if err != nil {
		return nil, nil, unread(err)
	}
	text, err := body.read(http.MaxBytesReader(w, r.Body, lane.limit), r.ContentLength, lane.limit)
	if err != nil {
		body.release()
		return nil, nil, unread(err)
	}
	_ = control.SetReadDeadline(time.Time{}) // from now on, the connection is watched for its end, and a deadline would be taken for that
	return body, text, nil
}

// unread is why a request was not read.
func unread(err error) error {
	var large *http.MaxBytesError
	switch {
	case errors.Is(err, errCrowded):
		return &reviews.Error{Code: http.StatusServiceUnavailable, Message: err.Error()}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &reviews.Error{Code: http.StatusRequestTimeout, Message: "The review has not come in time."}
	case errors.As(err, &large):
		return &reviews.Error{Code: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("The review is larger than %d bytes.", large.Limit)}
	}
	return &reviews.Error{Code: http.StatusBadRequest, Message: fmt.Sprintf("The review cannot be read: %v", err)}
}

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
