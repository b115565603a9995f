package reactortest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/guests"
)

// Calls are the handlers that run, and have run, in all replicas of a test. They are safe for concurrent use.
type Calls struct {
	mu       sync.Mutex                // guards the fields below
	running  map[string]map[string]int // how many handlers run, by objects and replicas
	done     map[string]int            // handlers of changes that have ended, by objects and values of spec.field
	overlaps []string
}

// NewCalls returns Calls without any.
func NewCalls() *Calls {
	return &Calls{running: map[string]map[string]int{}, done: map[string]int{}}
}

func (c *Calls) begin(object, replica string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[object] == nil {
		c.running[object] = map[string]int{}
	}
	c.running[object][replica]++
	if len(c.running[object]) > 1 {
		c.overlaps = append(c.overlaps, fmt.Sprint(object, " in ", c.running[object]))
	}
}

func (c *Calls) end(object, replica string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[object][replica]--; c.running[object][replica] == 0 {
		delete(c.running[object], replica)
	}
}

func (c *Calls) conclude(object, field string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[object+" "+field]++
}

// Running reports whether a replica runs handlers of an object.
func (c *Calls) Running(replica, object string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running[object][replica] > 0
}

// Busy returns in how many objects a replica runs handlers.
func (c *Calls) Busy(replica string) (count int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, by := range c.running {
		count += by[replica]
	}
	return count
}

// Done returns how often each change was handled, by the name of the object, a space, and the value of spec.field.
func (c *Calls) Done() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.done)
}

// Overlaps returns a text for each time at which an object had handlers in two replicas.
func (c *Calls) Overlaps() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.overlaps)
}

// Recorder is the guest of one replica: it has an index, a daemon, which runs until it is stopped, and handlers of changes, which
// take a second. It records all of them but the index.
type Recorder struct {
	*Calls
	Replica  string
	Stopping time.Duration // how long its daemons take to end
	Cleanup  time.Duration // how long its cleanup handler takes; 0: it has none
}

// Name implements guests.Guest.
func (*Recorder) Name() string { return "recorder" }

// Registration implements guests.Guest.
func (r *Recorder) Registration() *abi.Registration {
	resource := &abi.Selector{Group: new("example.com"), Plural: "shops"}
	handlers := []abi.Handler{
		{Kind: abi.KindCreate, ID: "created", Resource: resource},
		{Kind: abi.KindUpdate, ID: "updated", Resource: resource},
		{Kind: abi.KindDaemon, ID: "daemon", Resource: resource},
		{Kind: abi.KindIndex, ID: "index", Resource: resource},
	}
	if r.Cleanup > 0 {
		handlers = append(handlers, abi.Handler{Kind: abi.KindCleanup, ID: "cleanup"})
	}
	return &abi.Registration{Handlers: handlers}
}

// Ask implements guests.Guest.
func (*Recorder) Ask(context.Context, *abi.Questions, []byte, guests.Env) (*abi.Answers, error) {
	return &abi.Answers{}, nil
}

// Start implements guests.Guest.
func (r *Recorder) Start(_ context.Context, inv *abi.Invocation, raw []byte, _ guests.Env) (guests.Task, *abi.Step, error) {
	if inv.ID == "cleanup" {
		time.Sleep(r.Cleanup)
		return &recording{ends: func() {}}, &abi.Step{Step: abi.StepDone}, nil
	}
	body, err := dicts.DecodeObject(raw)
	if err != nil {
		return nil, nil, err
	}
	t := &recording{recorder: r, object: dicts.LookupString(body, "metadata", "name"), field: dicts.LookupString(body, "spec", "field"), id: inv.ID, ends: func() {}}
	if inv.ID == "index" {
		return t, &abi.Step{Step: abi.StepDone, Outcome: abi.Outcome{Result: abi.Raw(`"x"`)}}, nil
	}
	r.begin(t.object, r.Replica)
	t.ends = sync.OnceFunc(func() { r.end(t.object, r.Replica) })
	if inv.ID == "daemon" {
		return t, &abi.Step{Step: abi.StepWait, Stoppable: true}, nil
	}
	second := 1.0
	return t, &abi.Step{Step: abi.StepWait, Seconds: &second}, nil
}

// recording is the task of a Recorder.
type recording struct {
	guests.Task
	recorder          *Recorder
	object, field, id string
	ends              func()
}

func (t *recording) Resume(context.Context, abi.Answer) (*abi.Step, error) {
	if t.id == "daemon" {
		time.Sleep(t.recorder.Stopping)
	} else {
		t.recorder.conclude(t.object, t.field)
	}
	t.ends()
	return &abi.Step{Step: abi.StepDone, Outcome: abi.Outcome{Patch: abi.Raw(`{"status":{"` + t.id + `":"` + t.recorder.Replica + `"}}`)}}, nil
}

func (*recording) Cancel(context.Context) error { return nil }

func (t *recording) Release(context.Context) { t.ends() }

// Wire is the connection of one replica. Requests take up to 20 milliseconds.
type Wire struct {
	http.RoundTripper
	Late func(io.ReadCloser) io.ReadCloser // changes the bodies of watches; nil: nothing does
	Cut  atomic.Bool                       // all requests fail after a second
}

var errCut = errors.New("the connection is cut")

// RoundTrip implements http.RoundTripper.
func (w *Wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.Cut.Load() {
		time.Sleep(time.Second)
		return nil, errCut
	}
	time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
	rsp, err := w.RoundTripper.RoundTrip(r)
	if err == nil && w.Late != nil && r.URL.Query().Get("watch") != "" {
		rsp.Body = w.Late(rsp.Body)
	}
	return rsp, err
}
