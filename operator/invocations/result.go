package invocations

import (
	"sync"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator/answers"
	"github.com/kopf-wasm/kopf/operator/crossings"
	"github.com/kopf-wasm/kopf/reactor/handling"
)

// Result is what a call of a handler has done.
type Result struct {
	Handler    string       `json:"handler"`
	Kind       string       `json:"kind"`
	Filtered   bool         `json:"filtered,omitempty"` // the filters of the handler do not match the object
	Result     any          `json:"result,omitempty"`
	Patch      dicts.Object `json:"patch,omitempty"`      // the merge patch
	Operations []any        `json:"operations,omitempty"` // of transformations, as a JSON patch
	Error      *Failure     `json:"error,omitempty"`
	Warnings   []string     `json:"warnings,omitempty"`
	Logs       []Log        `json:"logs,omitempty"`
	Events     []Event      `json:"events,omitempty"`
	Requests   []Request    `json:"requests,omitempty"`
	Settings   dicts.Object `json:"settings,omitempty"` // that a startup handler has changed
	Memo       dicts.Object `json:"memo,omitempty"`     // the values that the handler has set
}

// Failure is the error of a handler.
type Failure struct {
	Kind    string   `json:"kind"` // temporary, permanent, arbitrary, admission, children, cancelled, transformation
	Type    string   `json:"type,omitempty"`
	Message string   `json:"message"`
	Stack   string   `json:"stack,omitempty"`
	Delay   *float64 `json:"delay,omitempty"` // seconds until the next attempt
	Code    int      `json:"code,omitempty"`
}

// Log is a log message of the handler.
type Log struct {
	Level   string `json:"level"`
	Message string `json:"message"`
}

// Event is a Kubernetes event that the handler has posted.
type Event struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Object  any    `json:"object,omitempty"` // another object than the handled one
}

// Request is a request of the handler, and its answer.
type Request struct {
	Target string `json:"target"`
	Method string `json:"method"`
	Path   string `json:"path"`
	Body   any    `json:"body,omitempty"`
	Status int    `json:"status,omitempty"` // 0: there was no answer
	Error  string `json:"error,omitempty"`
}

// Failed reports whether the handler has failed.
func (r *Result) Failed() bool { return r.Error != nil }

// take takes the outcome of the attempt.
func (r *Result) take(done *handling.Outcome) {
	r.Result, r.Warnings = done.Result, done.Warnings
	for name, value := range done.Settings {
		if r.Settings == nil {
			r.Settings = dicts.Object{}
		}
		r.Settings[name] = crossings.Decoded(value)
	}
	if failure := done.Failure; failure != nil {
		r.Error = &Failure{Kind: string(failure.Kind), Type: failure.Type, Message: failure.Text(), Stack: failure.Stack, Code: failure.Code}
		if failure.Kind == abi.ErrorChildren {
			r.Error.Message = "sub-handlers are unfinished: they failed, and are tried again later"
		}
		if failure.Delay.Said && !failure.Delay.None {
			r.Error.Delay = &failure.Delay.Seconds
		}
	} else if done.Failed {
		r.Error = &Failure{Kind: string(abi.ErrorPermanent), Message: done.Message}
	}
}

// observer collects what a handler says while it runs.
type observer struct {
	answers *answers.Answers

	mu       sync.Mutex // guards the fields below
	logs     []Log
	events   []Event
	requests []Request
	memo     dicts.Object
}

func (o *observer) border() *crossings.Border {
	return &crossings.Border{See: o.see, Answer: func(call *abi.Call) *abi.Answer {
		if found := o.answers.Find(call); found != nil {
			return found
		}
		return answers.Refusal(call, "the file of --answers")
	}}
}

func (o *observer) see(c crossings.Crossing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch m := c.What.(type) {
	case crossings.Log:
		o.logs = append(o.logs, Log{levelName(m.Level), m.Message})
	case crossings.Event:
		o.events = append(o.events, Event{Type: m.Event.Type, Reason: m.Event.Reason, Message: m.Event.Message, Object: crossings.Decoded(m.Event.Object)})
	case crossings.Request:
		o.requests = append(o.requests, requestOf(m))
	case crossings.MemoSet:
		if m.Err == nil {
			if o.memo == nil {
				o.memo = dicts.Object{}
			}
			o.memo[m.Key] = crossings.Decoded(m.Value)
		}
	}
}

func requestOf(m crossings.Request) Request {
	r := Request{Target: m.Call.Target, Method: m.Call.Method, Path: m.Call.Path, Body: crossings.Decoded(m.Call.Body)}
	if m.Answer.Response != nil {
		r.Status = m.Answer.Response.Status
	}
	if m.Answer.Error != nil {
		r.Error = m.Answer.Error.Message
	}
	return r
}

func (o *observer) into(r *Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r.Logs, r.Events, r.Requests, r.Memo = o.logs, o.events, o.requests, o.memo
}

// levelName returns the name of one of the levels of package abi.
func levelName(level int) string {
	switch {
	case level <= abi.LevelDebug:
		return "debug"
	case level <= abi.LevelInfo:
		return "info"
	case level <= abi.LevelWarning:
		return "warning"
	case level <= abi.LevelError:
		return "error"
	}
	return "critical"
}
