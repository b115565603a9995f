package scenarios

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator/apiserver"
	"github.com/kopf-wasm/kopf/operator/crossings"
)

// call is one call of a handler.
type call struct {
	at      time.Time
	handler string
	alone   string // the id of a daemon or a timer; empty for other handlers
	reason  string
	object  string // NAME
	retry   int
	done    bool
	result  any
	patch   any
	failure *abi.Error
}

// request is one request of a handler.
type request struct {
	method, path string
	body         any
	status       int // 0: no response
}

// record is what an operator has done since the last expectations.
type record struct {
	mu       sync.Mutex // guards the fields below
	calls    []*call
	requests []*request
	events   []dicts.Object
	patches  []dicts.Object
	logs     []string
	total    int // calls since the start of the scenario

	running map[int]*call    // by the number of the call
	pending map[int]*request // that have no answer
}

func newRecord() *record { return &record{running: map[int]*call{}, pending: map[int]*request{}} }

// clear forgets everything but what has not ended.
func (r *record) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls, r.requests, r.events, r.patches, r.logs = nil, nil, nil, nil, nil
}

// ordered returns the calls in the order of their times. What happens at one time on several
// goroutines has an order, too, so that repeated runs are equal: by the names of the objects,
// and for one object the daemons and timers last, by their ids.
func (r *record) ordered() []*call {
	calls := slices.Clone(r.calls)
	slices.SortStableFunc(calls, func(a, b *call) int {
		return cmp.Or(a.at.Compare(b.at), strings.Compare(a.object, b.object), strings.Compare(a.alone, b.alone))
	})
	return calls
}

// see takes a message between the reactor and a guest.
func (r *record) see(c crossings.Crossing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch m := c.What.(type) {
	case crossings.Start:
		r.begin(c.Call, m.Invocation)
	case crossings.Step:
		r.step(c.Call, m.Step)
	case crossings.Failure:
		if begun := r.running[c.Call]; begun != nil {
			begun.done, begun.failure = true, &abi.Error{Kind: abi.ErrorArbitrary, Message: m.Err.Error()}
		}
	case crossings.Resume:
		if sent := r.pending[c.Call]; sent != nil && m.Answer.Response != nil {
			sent.status = m.Answer.Response.Status
			delete(r.pending, c.Call)
		}
	case crossings.Request:
		r.answered(c.Call, m)
	case crossings.Log:
		r.logs = append(r.logs, m.Message)
	case crossings.Release:
		delete(r.running, c.Call)
		delete(r.pending, c.Call)
	}
}

func (r *record) begin(number int, inv *abi.Invocation) {
	begun := &call{at: time.Now(), handler: inv.ID, reason: inv.Reason, object: inv.Name, retry: inv.Retry}
	if inv.Kind == abi.KindTimer || inv.Kind == abi.KindDaemon || inv.Kind == abi.KindBackground {
		begun.alone = inv.ID
	}
	r.running[number] = begun
	r.calls = append(r.calls, begun)
	r.total++
}

func (r *record) step(number int, s *abi.Step) {
	begun := r.running[number]
	switch {
	case s.Step == abi.StepCall && s.Call != nil:
		r.sent(number, s.Call)
	case s.Step == abi.StepDone && begun != nil:
		begun.done, begun.failure = true, s.Error
		begun.result, begun.patch = crossings.Decoded(s.Result), crossings.Decoded(s.Patch)
	}
}

func (r *record) sent(number int, c *abi.Call) *request {
	sent := &request{method: c.Method, path: c.Path, body: crossings.Decoded(c.Body)}
	r.requests = append(r.requests, sent)
	r.pending[number] = sent
	return sent
}

func (r *record) answered(number int, m crossings.Request) {
	sent := r.pending[number]
	if sent == nil {
		sent = r.sent(number, m.Call)
	}
	if m.Answer.Response != nil {
		sent.status = m.Answer.Response.Status
	}
	delete(r.pending, number)
}

// write takes a request to the API server.
func (r *record) write(w apiserver.Write) {
	body, _ := w.Body.(dicts.Object)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case w.Method == http.MethodPost && strings.HasSuffix(w.Path, "/events"):
		event := dicts.Object{"type": body["type"], "reason": body["reason"], "message": body["message"]}
		if name := dicts.LookupString(body, "involvedObject", "name"); name != "" {
			event["object"] = name
		}
		r.events = append(r.events, event)
	case w.Method == http.MethodPatch && !w.Guest:
		r.patches = append(r.patches, dicts.Object{"path": w.Path, "patch": w.Body})
	}
}

// String is a call in messages.
func (c *call) String() string {
	text := c.handler
	if c.object != "" {
		text += " of " + c.object
	}
	switch {
	case !c.done:
		text += " (is running)"
	case c.failure != nil:
		text += fmt.Sprintf(" (failed: %s)", c.failure.Text())
	}
	return text
}

// String is a request in messages.
func (r *request) String() string {
	text := r.method + " " + r.path
	if r.status > 0 {
		text += fmt.Sprintf(" -> %d", r.status)
	}
	return text
}
