package meters

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestBucketsAreCumulative: a bound belongs to its bucket, and what is longer than all bounds
// counts nowhere else.
func TestBucketsAreCumulative(t *testing.T) {
	var h Histogram
	for _, d := range []time.Duration{-time.Second, 0, time.Millisecond, time.Millisecond + 1, 30 * time.Second, time.Hour} {
		h.Observe(d)
	}
	d := h.Read()
	if got := d.Count(); got != 6 {
		t.Errorf("%d durations", got)
	}
	if got := d.Seconds(); math.Abs(got-3630.002) > 1e-6 {
		t.Errorf("the sum is %v", got)
	}
	buckets := d.Buckets()
	for bound, want := range map[float64]uint64{0.001: 3, 0.005: 4, 10: 4, 30: 5, 300: 5} {
		if buckets[bound] != want {
			t.Errorf("up to %v seconds: %d, want %d", bound, buckets[bound], want)
		}
	}
	if len(buckets) != len(bounds) {
		t.Errorf("%d buckets", len(buckets))
	}
	if twice := d.Add(d); twice.Count() != 12 || twice.Buckets()[30] != 10 {
		t.Errorf("twice: %+v", twice)
	}
}

// TestCallsAreCountedByHandlerAndReason: also if handlers share an id.
func TestCallsAreCountedByHandlerAndReason(t *testing.T) {
	var all Handlers
	all.Of("fn").For("create").Begin(false)
	all.Of("fn").For("create").End(time.Second)
	all.Of("fn").For("create").Conclude(Temporary)
	all.Of("fn").For("create").Begin(true)
	all.Of("fn").For("update").Exhaust()
	all.Of("a").For("daemon").Live(2)
	all.Of("a").For("daemon").Live(-1)
	all.Of("a").For("nonsense").Conclude(Failed)
	var took Histogram
	took.Observe(time.Second)
	want := []Calls{
		{Handler: "a", Reason: "daemon", Living: 1},
		{Handler: "a", Reason: "other", Ended: [Outcomes]uint64{Failed: 1}},
		{Handler: "fn", Reason: "create", Ended: [Outcomes]uint64{Temporary: 1}, Retries: 1, Running: 1, Took: took.Read()},
		{Handler: "fn", Reason: "update", Exhausted: 1},
	}
	if diff := cmp.Diff(want, all.Read(), cmp.AllowUnexported(Distribution{})); diff != "" {
		t.Error(diff)
	}
}

// TestHandlersOfGuestsAreBounded: whatever ids a guest registers or makes, labels are short and
// on one line, and their number is bounded.
func TestHandlersOfGuestsAreBounded(t *testing.T) {
	var all Handlers
	for i := range 10_000 {
		h := all.Of(fmt.Sprintf("%d\n\"\xff\u202e%s", i, strings.Repeat("x", 2000)))
		h.For("create").Conclude(Succeeded)
		h.Children().Children().For("update").Conclude(Succeeded)
	}
	found := all.Read()
	if len(found) > 2*(maxHandlers+2) {
		t.Errorf("%d handlers", len(found))
	}
	var calls uint64
	for _, c := range found {
		calls += c.Ended[Succeeded]
		if len(c.Handler) > 3*maxLabel || !utf8.ValidString(c.Handler) || strings.ContainsFunc(c.Handler, unicode.IsControl) {
			t.Errorf("label %q", c.Handler)
		}
	}
	if calls != 20_000 || all.Of("one more").label != unmetered {
		t.Errorf("%d calls are counted, and one more handler as %q", calls, all.Of("one more").label)
	}
}

// TestSubHandlersShareAMeter: at any depth, as their ids are made when a handler is called.
func TestSubHandlersShareAMeter(t *testing.T) {
	var all Handlers
	parent := all.Of("fn")
	for range 3 {
		parent.Children().For("create").Conclude(Succeeded)
		parent.Children().Children().For("create").Conclude(Succeeded)
	}
	if found := all.Read(); len(found) != 1 || found[0].Handler != "fn/*" || found[0].Ended[Succeeded] != 6 {
		t.Errorf("%+v", found)
	}
}

// TestRequestsHaveFewLabels: unusual methods and statuses share one.
func TestRequestsHaveFewLabels(t *testing.T) {
	var r Requests
	for status := range 1000 {
		r.Count("GET", status, time.Second)
		r.Count("BREW", status, time.Second)
	}
	found := r.Read()
	if len(found) != 2*(len(statuses)+1) {
		t.Errorf("%d series", len(found))
	}
	for _, a := range found {
		switch {
		case a.Method != "GET" && a.Method != "other", a.Code == "none" && a.Count != 1, a.Code == "200" && a.Count != 1, a.Code == "other" && a.Count != uint64(1000-len(statuses)):
			t.Errorf("%+v", a)
		}
	}
	if took := r.Took(); len(took) != 2 || took["GET"].Count() != 1000 {
		t.Errorf("took %v", took)
	}
}

// TestNothingIsCountedByNil: tests and single calls have no meters.
func TestNothingIsCountedByNil(t *testing.T) {
	var all *Handlers
	s := all.Of("fn").Children().For("create")
	s.Begin(true)
	s.End(time.Second)
	s.Conclude(Failed)
	s.Exhaust()
	s.Live(1)
	var r *Requests
	r.Count("GET", 200, time.Second)
	var h *Histogram
	h.Observe(time.Second)
	if h.Read().Count() != 0 {
		t.Error("nil has counted")
	}
}

// TestRecordingTakesNoMemory: after the first call of a handler for a reason.
func TestRecordingTakesNoMemory(t *testing.T) {
	var o Operator
	h := o.Handlers.Of("fn")
	if n := testing.AllocsPerRun(1000, func() {
		s := h.For("create")
		s.Begin(true)
		s.End(time.Second)
		s.Conclude(Succeeded)
		h.Children().For("update").Conclude(Failed)
		o.Requests.Count("PATCH", 200, time.Second)
		o.Waits.Observe(time.Second)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestConcurrentCallsAreAllCounted: the race detector finds none, either.
func TestConcurrentCallsAreAllCounted(t *testing.T) {
	var o Operator
	var working sync.WaitGroup
	for range 8 {
		working.Go(func() {
			for range 100 {
				s := o.Handlers.Of("fn").Children().For("create")
				s.Begin(false)
				s.End(time.Millisecond)
				s.Conclude(Succeeded)
				o.Requests.Count("GET", 200, time.Millisecond)
				o.Handlers.Read()
			}
		})
	}
	working.Wait()
	if c := o.Handlers.Read(); len(c) != 1 || c[0].Ended[Succeeded] != 800 || c[0].Took.Count() != 800 || c[0].Running != 0 || o.Requests.Read()[0].Count != 800 {
		t.Errorf("%+v", c)
	}
}

// BenchmarkCall measures what is recorded for a call of a handler.
func BenchmarkCall(b *testing.B) {
	var all Handlers
	h := all.Of("fn")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			s := h.For("create")
			s.Begin(false)
			s.End(time.Second)
			s.Conclude(Succeeded)
		}
	})
}
