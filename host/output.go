package host

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/kopf-wasm/kopf/internal/legible"
)

// OutputBucket bounds what modules write to the log and to their standard streams, in bytes
// per second. All modules of an operator share one, so more modules do not mean more output.
// It is safe for concurrent use.
type OutputBucket struct {
	limiter *rate.Limiter
	dropped atomic.Int64
}

// NewOutputBucket creates a bucket with the limit of Options.LogLimit; 0: its default.
func NewOutputBucket(logLimit int) *OutputBucket {
	setDefault(&logLimit, defaultLogLimit)
	return &OutputBucket{limiter: rate.NewLimiter(rate.Limit(logLimit), logLimit)}
}

// Change changes the limit. What is used of it stays used.
func (b *OutputBucket) Change(logLimit int) {
	setDefault(&logLimit, defaultLogLimit)
	b.limiter.SetLimit(rate.Limit(logLimit))
	b.limiter.SetBurst(logLimit)
}

// Limit returns the limit, in bytes a second.
func (b *OutputBucket) Limit() int { return b.limiter.Burst() }

// Dropped returns the number of dropped lines so far, including those of closed modules.
func (b *OutputBucket) Dropped() int64 { return b.dropped.Load() }

// allow reports whether a line may be written.
func (b *OutputBucket) allow(size int) bool {
	if b.limiter.AllowN(time.Now(), size+lineCost) {
		return true
	}
	b.dropped.Add(1)
	return false
}

// outputLimit is the share of one module in a bucket. Lines above the limit are dropped and counted.
type outputLimit struct {
	bucket  *OutputBucket
	report  func(lines int64) // receives the number of dropped lines, at most once per second
	dropped atomic.Int64      // lines since the module was loaded

	mu       sync.Mutex
	pending  int64       // lines that are not reported yet
	reporter *time.Timer // nil: no pending lines
}

func newOutputLimit(bucket *OutputBucket, report func(lines int64)) *outputLimit {
	return &outputLimit{bucket: bucket, report: report}
}

// reportEvery is the interval between two reports of dropped lines.
const reportEvery = time.Second

// allow reports whether a line may be written.
func (o *outputLimit) allow(size int) bool {
	if o.bucket.allow(size) {
		return true
	}
	o.dropped.Add(1)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pending++; o.reporter == nil {
		o.reporter = time.AfterFunc(reportEvery, o.flush)
	}
	return false
}

// shortError is what remains of each text of an error beyond the limit, in bytes.
const shortError = 1 << 10

// quote cuts texts of a guest that the host will log, beyond the limit: those of an error. A line that is cut counts as dropped.
func (o *outputLimit) quote(texts ...*string) {
	size := 0
	for _, text := range texts {
		size += len(*text)
	}
	if size <= shortError || o == nil || o.allow(size) {
		return
	}
	for _, text := range texts {
		*text = legible.Clip(*text, shortError)
	}
}

// flush reports the pending lines.
func (o *outputLimit) flush() {
	o.mu.Lock()
	lines := o.pending
	if o.reporter != nil {
		o.reporter.Stop()
	}
	o.pending, o.reporter = 0, nil
	o.mu.Unlock()
	if lines > 0 {
		o.report(lines)
	}
}

// openOutput prepares the destinations of the guest's output.
func (m *Module) openOutput() {
	m.streams = [2]*lockedWriter{{to: m.options.Stdout}, {to: m.options.Stderr}}
	report := m.options.Dropped
	if report == nil {
		report = m.reportDropped
	}
	bucket := m.options.Output
	if bucket == nil {
		bucket = NewOutputBucket(m.options.LogLimit)
	}
	m.output = newOutputLimit(bucket, report)
}

// reportDropped writes the report of dropped lines if Options.Dropped is nil.
func (m *Module) reportDropped(lines int64) {
	m.streams[1].Write(fmt.Appendf(nil, "%s: %d lines dropped: more than %d bytes a second are written\n", legible.Line(m.name), lines, m.output.bucket.limiter.Burst()))
}
