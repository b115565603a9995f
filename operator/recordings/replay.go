package recordings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/reactor/guests"
)

// Difference is the first message in which a replay differs from its recording.
type Difference struct {
	Call    int    `json:"call"`
	Handler string `json:"handler"` // its id, or a word for what is no call of a handler
	Object  string `json:"object,omitempty"`
	Reason  string `json:"reason,omitempty"`
	What    string `json:"what"`           // the kind of message
	Want    string `json:"want,omitempty"` // as recorded; empty: nothing more was recorded
	Got     string `json:"got,omitempty"`  // empty: the guest does nothing
}

// Report is the end of a replay.
type Report struct {
	Calls      int         `json:"calls"` // that are replayed, with questions
	Difference *Difference `json:"difference,omitempty"`
}

// errOperator says that a recording is of another operator.
var errOperator = errors.New("the recording is of another operator")

// Check reports whether guests can be those of the recording: they have the recorded handlers.
//
// Errors name the handlers that are missing.
func (f *File) Check(all []guests.Guest) error {
	if len(all) != len(f.Header.Modules) {
		return fmt.Errorf("%w: it has %d modules, not %d", errOperator, len(f.Header.Modules), len(all))
	}
	for i, module := range f.Header.Modules {
		var ids, missing []string
		for _, h := range all[i].Registration().Handlers {
			ids = append(ids, h.ID)
		}
		for _, id := range module.Handlers {
			if !slices.Contains(ids, id) {
				missing = append(missing, id)
			}
		}
		if len(missing) == len(module.Handlers) && len(missing) > 0 {
			return fmt.Errorf("%w: its module %s has the handlers %s, and %s has none of them", errOperator, module.Name, strings.Join(missing, ", "), all[i].Name())
		}
	}
	return nil
}

// Replay is a replay of one recording.
type Replay struct {
	file   *File
	guests map[string]guests.Guest // by the recorded names
	calls  map[int]*replayed
	report Report
}

// NewReplay prepares a replay. Attach gives it the guests.
func NewReplay(f *File) (*Replay, error) {
	r := &Replay{file: f, calls: map[int]*replayed{}}
	for _, l := range f.lines {
		var m message
		if len(l.Data) > 0 {
			if err := json.Unmarshal(l.Data, &m); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrFormat, err)
			}
		}
		c := r.call(l.Call)
		c.rest = append(c.rest, &recorded{kind: l.Kind, message: m})
		if m.Invocation != nil {
			c.invocation = m.Invocation
		}
	}
	return r, nil
}

func (r *Replay) call(number int) *replayed {
	c := r.calls[number]
	if c == nil {
		c = &replayed{replay: r, number: number, random: rand.NewChaCha8([32]byte{})}
		r.calls[number] = c
	}
	return c
}

// Loading returns a context for loading the modules: they see the recorded surroundings.
func (r *Replay) Loading(ctx context.Context) context.Context {
	return host.WithSurroundings(ctx, r.call(0))
}

// Attach gives the guests, in the order of the recorded modules.
func (r *Replay) Attach(all []guests.Guest) error {
	if err := r.file.Check(all); err != nil {
		return err
	}
	r.guests = map[string]guests.Guest{}
	for i, module := range r.file.Header.Modules {
		r.guests[module.Name] = all[i]
	}
	return nil
}

// Run sends all messages to the guests, until they do something else.
//
// Errors: those of the context; a recording that cannot be.
func (r *Replay) Run(ctx context.Context) (*Report, error) {
	defer r.releaseAll(ctx)
	for _, l := range r.file.lines {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if l.Call == 0 || !isToGuest(l.Kind) {
			continue
		}
		c := r.call(l.Call)
		if err := c.send(ctx, l); err != nil {
			return nil, err
		}
		if r.report.Difference != nil {
			break
		}
	}
	return &r.report, nil
}

func isToGuest(kind string) bool {
	return slices.Contains([]string{kindStart, kindResume, kindCancel, kindRelease, kindTransform, kindAsk}, kind)
}

func (r *Replay) releaseAll(ctx context.Context) {
	for _, c := range r.calls {
		if c.task != nil {
			c.task.Release(context.WithoutCancel(ctx))
		}
	}
}

// recorded is one message of a call.
type recorded struct {
	kind string
	message
	used bool
}

// replayed is one call in a replay. It is also the environment and the surroundings of its
// guest.
type replayed struct {
	replay     *Replay
	number     int
	invocation *abi.Invocation // nil: questions, or the loading of modules
	rest       []*recorded     // messages that are not sent, not done and not answered
	past       []*recorded     // answers to questions
	task       guests.Task
	random     *rand.ChaCha8 // when no random bytes are left
	bytes      []byte        // recorded random bytes
}

// effects are the kinds of messages that a replay must repeat, in their order. All others are
// questions of the guest.
var effects = []string{kindLog, kindEvent, kindRequest, kindMemoSet, kindStep, kindAnswers, kindTransformed, kindFailure}

// next removes and returns the next message of some kinds before the next one to the guest; nil
// if there is none.
func (c *replayed) next(kinds ...string) *recorded {
	for i, m := range c.rest {
		if isToGuest(m.kind) {
			return nil
		}
		if slices.Contains(kinds, m.kind) {
			c.rest = slices.Delete(c.rest, i, i+1)
			return m
		}
	}
	return nil
}

// find returns the recorded answer to a question of the guest: the next one, or else the last
// one, because a newer module may ask in another order, or again.
func (c *replayed) find(kind string, same func(m *recorded) bool) *recorded {
	for _, m := range c.rest {
		if m.kind == kind && !m.used && same(m) {
			m.used = true
			c.past = append(c.past, m)
			return m
		}
		if isToGuest(m.kind) {
			break
		}
	}
	for _, m := range slices.Backward(c.past) {
		if m.kind == kind && same(m) {
			return m
		}
	}
	return nil
}

// errImpossible says that messages of a recording do not fit together.
var errImpossible = errors.New("the recording is damaged: a message belongs to no call")

// send sends one message to the guest, and compares its answer.
func (c *replayed) send(ctx context.Context, l line) error {
	m := c.take(l.Kind)
	if m == nil {
		return errImpossible
	}
	ctx = host.WithSurroundings(ctx, c)
	switch l.Kind {
	case kindStart:
		return c.start(ctx, l.Guest, m)
	case kindAsk:
		return c.ask(ctx, l.Guest, m)
	}
	if c.task == nil { // its start has failed, as recorded
		return nil
	}
	switch l.Kind {
	case kindResume:
		if m.Answer == nil {
			return errImpossible
		}
		step, err := c.task.Resume(ctx, *m.Answer)
		c.ended(message{Step: step, Error: faultOf(err)})
	case kindTransform:
		body, err := c.task.Transform(ctx, m.Body)
		c.transformed(body, err)
	case kindCancel:
		_ = c.task.Cancel(ctx) // the next step shows what follows
	case kindRelease:
		c.task.Release(ctx)
		c.task = nil
	}
	return nil
}

// take removes the message to the guest, and answers before it that the guest no longer wants.
func (c *replayed) take(kind string) *recorded {
	for i, m := range c.rest {
		if m.kind == kind {
			c.rest = c.rest[i+1:]
			return m
		}
		c.past = append(c.past, m)
	}
	return nil
}

// addressee is the guest, or the task of a parent, that a call is made to; nil if there is none. It counts the call.
func (c *replayed) addressee(name string, m *recorded) interface {
	guests.Starter
	guests.Asker
} {
	c.replay.report.Calls++
	if m.Parent != 0 {
		return c.replay.call(m.Parent).task
	}
	return c.replay.guests[name]
}

func (c *replayed) start(ctx context.Context, name string, m *recorded) error {
	of := c.addressee(name, m)
	if of == nil || m.Invocation == nil {
		return errImpossible
	}
	task, step, err := of.Start(ctx, m.Invocation, m.Body, c)
	if err == nil {
		c.task = task
	}
	c.ended(message{Step: step, Error: faultOf(err)})
	return nil
}

func (c *replayed) ask(ctx context.Context, name string, m *recorded) error {
	of := c.addressee(name, m)
	if of == nil || m.Questions == nil {
		return errImpossible
	}
	answers, err := of.Ask(ctx, m.Questions, m.Body, c)
	c.compare([]string{kindAnswers, kindFailure}, "answers", message{Answers: answers, Error: faultOf(err)})
	return nil
}

// ended compares a step or a failure.
func (c *replayed) ended(got message) {
	c.compare([]string{kindStep, kindFailure}, "step", got)
}

func (c *replayed) transformed(body []byte, err error) {
	c.compare([]string{kindTransformed, kindFailure}, "transformed body", message{Body: body, Error: faultOf(err)})
}

// compare compares what a guest does with what it did next.
func (c *replayed) compare(kinds []string, what string, got message) *recorded {
	want := c.next(effects...)
	wanted := ""
	if want != nil {
		if wanted = want.shown(); !slices.Contains(kinds, want.kind) {
			what = fmt.Sprintf("%s in place of a recorded %s", what, want.kind)
		}
	}
	if wanted != got.shown() {
		c.replay.differ(c, what, wanted, got.shown())
	}
	return want
}

func (r *Replay) differ(c *replayed, what, want, got string) {
	if r.report.Difference != nil {
		return
	}
	d := &Difference{Call: c.number, Handler: "filters", What: what, Want: want, Got: got}
	if inv := c.invocation; inv != nil {
		d.Handler, d.Reason = inv.ID, inv.Reason
		d.Object = strings.TrimPrefix(inv.Namespace+"/"+inv.Name, "/")
	}
	r.report.Difference = d
}

// shown is what is compared, as JSON without the answers of the host.
func (m *message) shown() string {
	effect := message{Answers: m.Answers, Step: m.Step, Call: m.Call, Event: m.Event, Body: m.Body, Level: m.Level, Key: m.Key, Text: m.Text, Version: m.Version, Error: m.Error}
	if m.Key != nil { // a value that is set, not an answer
		effect.Value = m.Value
	}
	if s := effect.Step; s != nil && s.Error != nil && s.Error.Stack != "" { // it has numbers of lines
		step, failure := *s, *s.Error
		failure.Stack, step.Error = "", &failure
		effect.Step = &step
	}
	if effect.Event != nil || effect.Key != nil {
		effect.Error = nil // of the host
	}
	encoded, err := json.Marshal(effect)
	if err != nil {
		return err.Error()
	}
	return canonical(encoded)
}

// Log implements guests.Env.
func (c *replayed) Log(level int, line string) {
	c.compare([]string{kindLog}, "log message", message{Level: level, Text: text(line)})
}

// Event implements guests.Env.
func (c *replayed) Event(event abi.Event) error {
	if want := c.compare([]string{kindEvent}, "event", message{Event: &event}); want != nil {
		return want.Error.err()
	}
	return nil
}

// Call implements guests.Env.
func (c *replayed) Call(_ context.Context, call *abi.Call) abi.Answer {
	if want := c.compare([]string{kindRequest}, "request", message{Call: call}); want != nil && want.Answer != nil {
		return *want.Answer
	}
	return abi.Answer{Error: &abi.Error{Kind: abi.ErrorArbitrary, Type: abi.CallUnreachable, Message: "the recording has no such request"}}
}

// MemoSet implements guests.Env.
func (c *replayed) MemoSet(scope int, key string, value []byte, version int64) (uint64, error) {
	want := c.compare([]string{kindMemoSet}, "change of a memo", message{Level: scope, Key: text(key), Value: value, Version: version})
	if want == nil {
		return 0, nil
	}
	return want.Result, want.Error.err()
}

// MemoGet implements guests.Env.
func (c *replayed) MemoGet(scope int, key string) ([]byte, uint64, bool) {
	m := c.find(kindMemoGet, func(m *recorded) bool { return m.Level == scope && string(m.Key) == key })
	if m == nil {
		return nil, 0, false
	}
	return m.Value, m.Result, m.Found
}

// Segment implements guests.Env.
func (c *replayed) Segment(tag uint32) []byte {
	if m := c.find(kindSegment, func(m *recorded) bool { return m.Level == int(tag) }); m != nil {
		return m.Value
	}
	return nil
}

// Stopped implements guests.Env.
func (c *replayed) Stopped() int {
	if m := c.find(kindStopped, func(*recorded) bool { return true }); m != nil {
		return m.Level
	}
	return 0
}

// Waits implements guests.Env.
func (*replayed) Waits() {}

// Index implements guests.Env.
func (c *replayed) Index(op int, name string, key []byte) ([]byte, error) {
	m := c.find(kindIndex, func(m *recorded) bool { return m.Level == op && string(m.Key) == name && string(m.Text) == string(key) })
	if m == nil {
		return nil, abi.ErrAbsent
	}
	return m.Value, m.Error.err()
}

// Now implements host.Surroundings.
func (c *replayed) Now(present time.Time) time.Time {
	if m := c.find(kindNow, func(*recorded) bool { return true }); m != nil {
		return m.time()
	}
	return present
}

// Random implements host.Surroundings.
func (c *replayed) Random(buf []byte) {
	for len(c.bytes) < len(buf) {
		m := c.next(kindRandom)
		if m == nil {
			_, _ = c.random.Read(buf) // never fails
			return
		}
		c.bytes = append(c.bytes, m.Value...)
	}
	c.bytes = c.bytes[copy(buf, c.bytes):]
}

// Sleep implements host.Surroundings.
func (c *replayed) Sleep(func() (time.Duration, bool)) (time.Duration, bool) {
	m := c.next(kindSleep)
	if m == nil {
		return 0, false
	}
	return time.Duration(m.Version), m.Found
}
