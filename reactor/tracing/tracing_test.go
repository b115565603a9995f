package tracing

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// kept keeps spans.
type kept []*Record

func (k *kept) Record(s *Record) { *k = append(*k, s) }

// TestSpansOfOneTrace: a span in the context is the parent; without one, a trace begins.
func TestSpansOfOneTrace(t *testing.T) {
	var all kept
	parent := Begin(t.Context(), &all, Internal, "parent")
	child := Begin(parent.In(t.Context()), &all, Client, "child")
	other := Begin(t.Context(), &all, Internal, "other")
	child.SetNumber("status", 7)
	child.Fail("boo")
	apart := Begin(Apart(parent.In(t.Context())), &all, Internal, "apart")
	if Apart(t.Context()) != t.Context() {
		t.Error("another context without a span")
	}
	for _, s := range []*Span{child, parent, other, apart} {
		s.End()
	}
	c, p, o := all[0], all[1], all[2]
	var none [8]byte
	if c.Trace != p.Trace || c.Parent != p.ID || p.Parent != none || c.ID == p.ID || c.ID == none {
		t.Errorf("parent %+v, child %+v", p, c)
	}
	for _, o := range []*Record{o, all[3]} {
		if o.Trace == p.Trace || o.Parent != none {
			t.Errorf("another trace: %+v", o)
		}
	}
	if !c.Failed || c.Message != "boo" || c.Attributes[0] != (Attribute{Key: "status", Number: 7, IsNumber: true}) || c.End.Before(c.Begin) || c.Kind != Client {
		t.Errorf("child %+v", c)
	}
}

// TestTextsOfSpansAreBounded: guests and servers supply them.
func TestTextsOfSpansAreBounded(t *testing.T) {
	var all kept
	hostile := "a\n\x1b\xff" + strings.Repeat("x", 10_000)
	s := Begin(t.Context(), &all, Internal, hostile)
	s.Rename(hostile)
	s.Set("key", hostile)
	s.Set("empty", "")
	s.Fail(hostile)
	s.End()
	if len(all[0].Attributes) != 1 {
		t.Errorf("attributes %+v", all[0].Attributes)
	}
	for _, text := range []string{all[0].Name, all[0].Message, all[0].Attributes[0].Text} {
		if len(text) > 2*maxText || strings.ContainsAny(text, "\n\x1b") || !utf8.ValidString(text) {
			t.Errorf("%q", text)
		}
	}
}

// TestNothingIsTracedWithoutATracer: it takes no memory, either.
func TestNothingIsTracedWithoutATracer(t *testing.T) {
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		s := Begin(ctx, nil, Internal, "name")
		if s.In(ctx) != ctx {
			t.Error("another context")
		}
		s.Rename("other")
		s.Set("key", "text")
		s.SetNumber("key", 1)
		s.Fail("boo")
		s.End()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
