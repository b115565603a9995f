package host

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/kopf-wasm/kopf/internal/legible"
)

// OutputBucket bounds what modules write to the log and to their standard streams, in bytes a second: all
// modules of one operator share one, so more modules do not make more output. It is safe for concurrent use.
type OutputBucket struct {
	limiter *rate.Limiter
	dropped atomic.Int64
}

// NewOutputBucket makes a bucket of so many bytes a second, as Options.LogLimit says; 0: its default.
func NewOutputBucket(logLimit int) *OutputBucket {
	setDefault(&logLimit, defaultLogLimit)
	return &OutputBucket{limiter: rate.NewLimiter(rate.Limit(logLimit), logLimit)}
}

// Dropped is how many lines were dropped so far, of modules that are closed, too.
func (b *OutputBucket) Dropped() int64 { return b.dropped.Load() }

// allow tells whether a line may be written.
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
	report  func(lines int64) // gets the lines that were dropped, at most once a second
	dropped atomic.Int64      // lines, since the module was loaded

	mu       sync.Mutex
	pending  int64       // lines that are not reported yet
	reporter *time.Timer // nil: nothing is pending
}

func newOutputLimit(bucket *OutputBucket, report func(lines int64)) *outputLimit {
	return &outputLimit{bucket: bucket, report: report}
}

// reportEvery is how often dropped lines are reported.
const reportEvery = time.Second

// allow tells whether a line may be written.
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

// flush reports what is pending.
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

// openOutput prepares what the guest's output goes to.
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

// reportDropped reports dropped lines where nothing else is asked for.
func (m *Module) reportDropped(lines int64) {
	m.streams[1].Write(fmt.Appendf(nil, "%s: %d lines dropped: more than %d bytes a second are written\n", legible.Line(m.name), lines, m.output.bucket.limiter.Burst()))
}
