package webhooks

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/panics"
	"github.com/kopf-wasm/kopf/reactor/conns"
	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/webhooks/crowd"
	"github.com/kopf-wasm/kopf/webhooks/wire"
)

// Handler answers reviews. The caller must call Wait at the end.
type Handler struct {
	operator    Operator
	limits      Limits
	log         *complaints
	reviews     lane
	conversions lane
	objects     *crowd.Slots   // slots for the objects of conversions
	answers     *crowd.Memory  // of the answers that are being sent
	running     sync.WaitGroup // running reviews, including those that were already answered
}

// lane holds the bounds for requests of one kind.
type lane struct {
	limit    int64 // of a body
	memory   *crowd.Memory
	slots    *crowd.Slots
	weighted bool // large requests take several slots
}

// NewHandler creates the handler of all requests to an operator.
func NewHandler(operator Operator, limits Limits, log zerolog.Logger) *Handler {
	limits = limits.withDefaults()
	return &Handler{
		operator: operator, limits: limits, log: newComplaints(log),
		reviews:     lane{limits.Body, crowd.NewMemory(limits.Memory), crowd.NewSlots(limits.Concurrent, limits.Waiting), true},
		conversions: lane{limits.Conversion, crowd.NewMemory(limits.Memory), crowd.NewSlots(limits.Conversions, limits.Waiting), false},
		objects:     crowd.NewSlots(limits.Concurrent, limits.Waiting),
		answers:     crowd.NewMemory(answersOf(limits)),
	}
}

// weight is the number of slots for a size in bytes.
func weight(of *crowd.Slots, size int) int { return of.Share(1 + size/slotBytes) }

// Wait blocks until all handlers have ended.
func (h *Handler) Wait() { h.running.Wait() }

// ServeHTTP answers one request, always before the client gives up.
//
// Handlers may outlast the deadline. So they run in their own goroutine if a response is complete only when this
// function returns, as with net/http.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := h.withDeadline(r.Context(), timeoutOf(r.URL))
	defer cancel()
	lane, answerTo := &h.reviews, h.answer
	if idOf(r.URL.Path) == conversionID {
		lane, answerTo = &h.conversions, h.convert
	}
	body, text, err := h.read(ctx, w, r, lane)
	if err != nil {
		h.write(w, r, failed(err))
		return
	}
	slots := 1
	if lane.weighted {
		slots = weight(lane.slots, len(text))
	}
	if a, late := h.handle(ctx, w, r, lane.slots, slots, body, func() answer { return answerTo(ctx, r, text) }); !late {
		h.write(w, r, a)
	}
}

// timeoutOf returns the timeout in the query of a URL: API servers ask with nothing but ?timeout=10s.
func timeoutOf(u *url.URL) string {
	if only, ok := strings.CutPrefix(u.RawQuery, "timeout="); ok && !strings.ContainsAny(only, "&;+%") {
		return only
	}
	return u.Query().Get("timeout")
}

// handle waits for slots and for an answer, until the deadline of the request. It returns true if the request was answered then.
func (h *Handler) handle(ctx context.Context, w http.ResponseWriter, r *http.Request, slots *crowd.Slots, wanted int, body *crowd.Body, do func() answer) (a answer, late bool) {
	request := conns.Begin(ctx)
	defer request.End()
	from := conns.AddressOf(r.RemoteAddr)
	give, err := slots.Take(ctx, from, wanted)
	if err != nil {
		body.Release()
		return failed(err), false
	}
	giveCommon, err := commonOf(ctx).take(ctx, from)
	if err != nil {
		give()
		body.Release()
		return failed(err), false
	}
	request.Run()
	work := func() answer {
		defer give()
		defer giveCommon()
		defer body.Release()
		return guarded(do)
	}
	if wire.Completes(w) {
		a, late = h.here(ctx, w, r, work)
	} else {
		a = h.elsewhere(ctx, work)
	}
	if !late && a.err == nil {
		request.Prove()
	}
	return a, late
}

// here does the work on the goroutine of the connection. If that takes too long, another one answers meanwhile.
func (h *Handler) here(ctx context.Context, w http.ResponseWriter, r *http.Request, work func() answer) (a answer, late bool) {
	h.running.Add(1)
	defer h.running.Done()
	answered := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(answered)
		guarded(func() answer { // a panic here would end the process
			w.Header().Set("Connection", "close")
			h.write(w, r, failed(context.Cause(ctx)))
			wire.End(w)
			return answer{}
		})
	})
	if a = work(); stop() {
		return a, false
	}
	<-answered
	return answer{}, true
}

// elsewhere does the work on another goroutine, and does not wait for it for too long.
func (h *Handler) elsewhere(ctx context.Context, work func() answer) answer {
	answered := make(chan answer, 1)
	h.running.Go(func() { answered <- work() }) // Waited for by Wait.
	select {
	case a := <-answered:
		return a
	case <-ctx.Done():
		return failed(context.Cause(ctx))
	}
}

// guarded answers, and fails after a panic.
func guarded(do func() answer) (a answer) {
	var panicked error
	defer func() {
		if panicked != nil {
			a = failed(panicked)
		}
	}()
	defer panics.Recover(&panicked)
	return do()
}

// withDeadline ends the context shortly before the client gives up, according to the timeout
// in the query.
func (h *Handler) withDeadline(ctx context.Context, wanted string) (context.Context, context.CancelFunc) {
	timeout := h.limits.Timeout
	if said, err := time.ParseDuration(wanted); err == nil && said > 0 {
		timeout = min(timeout, said)
	}
	left := timeout - min(timeout/10, time.Second)
	return context.WithTimeoutCause(ctx, left, lateError{left, timeout})
}

// lateError is the cause of a context whose deadline has passed.
type lateError struct{ left, timeout time.Duration }

func (e lateError) Error() string {
	return fmt.Sprintf("the handlers took longer than %v, and the API server waits for %v", e.left, e.timeout)
}

// read reads a request that may be a review. The caller releases the body if there is no
// error.
func (h *Handler) read(ctx context.Context, w http.ResponseWriter, r *http.Request, lane *lane) (*crowd.Body, []byte, error) {
	if r.Method != http.MethodPost {
		return nil, nil, &reviews.Error{Code: http.StatusMethodNotAllowed, Message: "Method Not Allowed"}
	}
	if said := r.Header.Get("Content-Type"); said != "" && said != "application/json" {
		if kind, _, err := mime.ParseMediaType(said); err != nil || kind != "application/json" {
			return nil, nil, &reviews.Error{Code: http.StatusUnsupportedMediaType, Message: fmt.Sprintf("The content type is %q, not application/json.", cut(said))}
		}
	}
	if r.ContentLength > lane.limit { // its first bytes would cost memory and decryption
		return nil, nil, unread(&http.MaxBytesError{Limit: lane.limit})
	}
	control := http.NewResponseController(w)
	hasCome := wire.HasBody(w) // then no read waits
	if !hasCome {
		late := time.Now().Add(h.limits.ReadTimeout)
		if deadline, ok := ctx.Deadline(); ok && deadline.Before(late) {
			late = deadline
		}
		_ = control.SetReadDeadline(late) // servers without deadlines have limits of their own
	}
	body, err := lane.memory.Begin(ctx, sharedOf(ctx), conns.AddressOf(r.RemoteAddr), func() { _ = control.SetReadDeadline(time.Unix(1, 0)) })
	if err != nil {
		return nil, nil, unread(err)
	}
	text, err := body.Read(ctx, http.MaxBytesReader(w, r.Body, lane.limit), r.ContentLength, lane.limit)
	if err != nil {
		body.Release()
		return nil, nil, unread(err)
	}
	if !hasCome {
		_ = control.SetReadDeadline(time.Time{}) // the server now watches the connection for its end, and would take a deadline for that end
	}
	return body, text, nil
}

// unread returns the reason why a request could not be read.
func unread(err error) error {
	var large *http.MaxBytesError
	switch {
	case errors.Is(err, crowd.ErrMemory):
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

// review asks the operator for a decision.
func (h *Handler) review(ctx context.Context, r *http.Request, body []byte) ([]byte, error) {
	request, err := reviews.Decode(body)
	if err != nil {
		return nil, err
	}
	incoming := &reviews.Incoming{
		Request: request, Webhook: idOf(r.URL.Path), Headers: headersOf(r), SSLPeer: peerOf(r.TLS),
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

// headersOf returns the headers as they were received.
func headersOf(r *http.Request) map[string][]string {
	headers := map[string][]string{"Host": {r.Host}}
	for name, values := range r.Header {
		headers[name] = values
	}
	return headers
}
