package webhooks

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/internal/panics"
	"github.com/kopf-wasm/kopf/reactor/conns"
	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/webhooks/crowd"
)

// answer is the response: a text in case of an error, else JSON.
type answer struct {
	code int
	body []byte
	err  error
}

// reason is the group of the error in the log.
func (a answer) reason() string {
	var late lateError
	switch {
	case errors.As(a.err, &late):
		return "late"
	case errors.Is(a.err, crowd.ErrSlots):
		return "busy"
	}
	return strconv.Itoa(a.code)
}

func failed(err error) answer {
	a := answer{code: http.StatusInternalServerError, err: err}
	var bad *reviews.Error
	if errors.As(err, &bad) {
		a.code = bad.Code
	}
	a.body = fmt.Appendf(nil, "%d: %s", a.code, err)
	if errors.Is(err, reviews.ErrNotObject) { // in the words of Kopf's server
		a.body = []byte("500 Internal Server Error\n\nServer got itself in trouble")
	}
	return a
}

func (h *Handler) write(w http.ResponseWriter, r *http.Request, a answer) {
	kind := "application/json; charset=utf-8"
	if a.err != nil {
		kind = "text/plain; charset=utf-8"
		var bad *reviews.Error
		if errors.As(a.err, &bad) && bad.Code != http.StatusNotFound { // a client that sends invalid requests has to repeat the handshake
			w.Header().Set("Connection", "close")
		}
		h.log.warn(a.reason(), strings.TrimRight(fmt.Sprintf("A review for %q cannot be answered: %v\n%s", cut(r.URL.Path), a.err, panics.StackOf(a.err)), "\n"))
	}
	release, err := h.hold(w, r, len(a.body))
	if err != nil {
		a = failed(&reviews.Error{Code: http.StatusServiceUnavailable, Message: err.Error()})
		kind = "text/plain; charset=utf-8"
	}
	defer release()
	w.Header()["Content-Type"] = []string{kind}
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(a.body))}
	w.WriteHeader(a.code)
	_, _ = w.Write(a.body) // the client may have disconnected
}

// smallAnswer is the size of answers that are not counted: the buffer of a connection holds them.
const smallAnswer = 4 << 10

// hold counts an answer until it is sent. If there is no room for others, the client with the most of it loses its oldest one.
func (h *Handler) hold(w http.ResponseWriter, r *http.Request, size int) (release func(), err error) {
	if size <= smallAnswer {
		return func() {}, nil
	}
	control := http.NewResponseController(w)
	held, err := h.answers.Begin(r.Context(), sharedOf(r.Context()), conns.AddressOf(r.RemoteAddr), func() { _ = control.SetWriteDeadline(time.Unix(1, 0)) })
	if err != nil {
		return func() {}, err
	}
	if err := held.Grow(r.Context(), int64(size)); err != nil {
		held.Release()
		return func() {}, err
	}
	return held.Release, nil
}
