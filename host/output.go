package host

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/kopf-wasm/kopf/internal/legible"
)

// outputLimit bounds what a module writes to the log and to its standard streams, in bytes a second. Lines
// above it are dropped and counted.
type outputLimit struct {
	bucket  *rate.Limiter
	report  func(lines int64) // gets the lines that were dropped, at most once a second
	dropped atomic.Int64      // lines, since the module was loaded

	mu       sync.Mutex
	pending  int64       // lines that are not reported yet
	reporter *time.Timer // nil: nothing is pending
}

func newOutputLimit(bytesPerSecond int, report func(lines int64)) *outputLimit {
	return &outputLimit{bucket: rate.NewLimiter(rate.Limit(bytesPerSecond), bytesPerSecond), report: report}
}

// reportEvery is how often dropped lines are reported.
const reportEvery = time.Second

// allow tells whether a line may be written.
func (o *outputLimit) allow(size int) bool {
	if o.bucket.AllowN(time.Now(), size+lineCost) {
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
	m.output = newOutputLimit(m.options.LogLimit, report)
}

// reportDropped reports dropped lines where nothing else is asked for.
func (m *Module) reportDropped(lines int64) {
	m.streams[1].Write(fmt.Appendf(nil, "%s: %d lines dropped: the guest writes more than %d bytes a second\n", legible.Line(m.name), lines, m.options.LogLimit))
}
