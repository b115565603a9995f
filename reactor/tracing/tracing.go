// Package tracing measures what an operator does as spans: the handling of events, the calls of
// handlers, and requests to the API server. It exports nothing: see Tracer. An operator without a
// Tracer makes no spans, and takes neither time nor memory for them.
//
// See docs/monitoring.md.
package tracing

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/internal/legible"
)

// Tracer takes spans that have ended.
type Tracer interface {
	// Record takes a span. It is called concurrently, and must not block, because the handling
	// of objects waits for it.
	Record(s *Record)
}

// Kind is the kind of a span, as in OpenTelemetry.
type Kind int

// The kinds of spans.
const (
	Internal Kind = 1
	Client   Kind = 3 // a request
)

// maxText bounds a text of a span, in bytes: guests, objects and API servers supply some.
const maxText = 500

// Record is a span that has ended. Its texts are on one line, and bounded.
type Record struct {
	Trace      [16]byte
	ID, Parent [8]byte // a Parent of zeros: the span is the first one of its trace
	Name       string
	Kind       Kind
	Begin, End time.Time
	Attributes []Attribute
	Failed     bool
	Message    string // of the failure
}

// Attribute is a text or a number.
type Attribute struct {
	Key      string
	Text     string
	Number   int64 // if IsNumber
	IsNumber bool
}

// Span is a span that has not ended. One goroutine at a time may use it. All methods of a nil Span
// do nothing.
type Span struct {
	tracer Tracer
	record Record
}

// inContext is the key of the span in a context.
type inContext struct{}

// Begin begins a span, as a part of the span in the context, if there is one. It returns nil if the
// tracer is nil.
func Begin(ctx context.Context, t Tracer, kind Kind, name string) *Span {
	if t == nil {
		return nil
	}
	s := &Span{tracer: t, record: Record{Name: short(name), Kind: kind, Begin: time.Now()}}
	if parent, ok := ctx.Value(inContext{}).(*Span); ok && parent != nil {
		s.record.Trace, s.record.Parent = parent.record.Trace, parent.record.ID
	} else {
		randomize(s.record.Trace[:8])
		randomize(s.record.Trace[8:])
	}
	randomize(s.record.ID[:])
	return s
}

// randomize fills 8 bytes with a random number that is not 0.
func randomize(id []byte) { binary.BigEndian.PutUint64(id, max(rand.Uint64(), 1)) }

func short(text string) string { return legible.Short(text, maxText) }

// In returns a context for the parts of the span.
func (s *Span) In(ctx context.Context) context.Context {
	if s == nil {
		return ctx
	}
	return context.WithValue(ctx, inContext{}, s)
}

// Apart returns a context whose spans begin traces of their own.
func Apart(ctx context.Context) context.Context {
	if ctx.Value(inContext{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, inContext{}, (*Span)(nil))
}

// Set sets an attribute, unless the text is empty.
func (s *Span) Set(key, text string) {
	if s != nil && text != "" {
		s.record.Attributes = append(s.record.Attributes, Attribute{Key: key, Text: strings.Clone(short(text))}) // the text may be a part of a body
	}
}

// SetNumber sets an attribute.
func (s *Span) SetNumber(key string, number int64) {
	if s != nil {
		s.record.Attributes = append(s.record.Attributes, Attribute{Key: key, Number: number, IsNumber: true})
	}
}

// Rename changes the name of the span.
func (s *Span) Rename(name string) {
	if s != nil {
		s.record.Name = short(name)
	}
}

// Fail notes a failure.
func (s *Span) Fail(message string) {
	if s != nil {
		s.record.Failed, s.record.Message = true, short(message)
	}
}

// End ends the span.
func (s *Span) End() {
	if s != nil {
		s.record.End = time.Now()
		s.tracer.Record(&s.record)
	}
}
