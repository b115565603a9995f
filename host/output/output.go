package output

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/kopf-wasm/kopf/internal/legible"
)

// Bucket bounds what modules write to the log and to their standard streams, in bytes
// per second. All modules of an operator share one, so more modules do not mean more output.
// It is safe for concurrent use.
type Bucket struct {
	limiter *rate.Limiter
	dropped atomic.Int64
}

// DefaultRate is the limit of a bucket that has no other one, in bytes per second.
const DefaultRate = 1 << 20

// NewBucket creates a bucket with a limit in bytes per second, and at once; 0: DefaultRate.
func NewBucket(limit int) *Bucket {
	limit = cmp.Or(limit, DefaultRate)
	return &Bucket{limiter: rate.NewLimiter(rate.Limit(limit), limit)}
}

// Change changes the limit. What is used of it stays used.
func (b *Bucket) Change(limit int) {
	limit = cmp.Or(limit, DefaultRate)
	b.limiter.SetLimit(rate.Limit(limit))
	b.limiter.SetBurst(limit)
}

// Limit returns the limit, in bytes a second.
func (b *Bucket) Limit() int { return b.limiter.Burst() }

// Dropped returns the number of dropped lines so far, including those of closed modules.
func (b *Bucket) Dropped() int64 { return b.dropped.Load() }

// allow reports whether a line may be written.
func (b *Bucket) allow(size int) bool {
	if b.limiter.AllowN(time.Now(), size+LineCost) {
		return true
	}
	b.dropped.Add(1)
	return false
}

// Limit is the part of one module in a bucket. Lines above the limit are dropped and counted.
type Limit struct {
	bucket  *Bucket
	report  func(lines int64)
	dropped atomic.Int64 // lines since the module was loaded

	mu       sync.Mutex
	pending  int64       // lines that are not reported yet
	reporter *time.Timer // nil: no pending lines
}

// NewLimit makes the part of a module. report receives the number of dropped lines, at most once per
// second.
func NewLimit(bucket *Bucket, report func(lines int64)) *Limit {
	return &Limit{bucket: bucket, report: report}
}

// reportEvery is the interval between two reports of dropped lines.
const reportEvery = time.Second

// Allow reports whether a line may be written.
func (o *Limit) Allow(size int) bool {
	if o.bucket.allow(size) {
		return true
	}
	o.dropped.Add(1)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pending++; o.reporter == nil {
		o.reporter = time.AfterFunc(reportEvery, o.Flush)
	}
	return false
}

// ShortError is what remains of each text of an error beyond the limit, in bytes.
const ShortError = 1 << 10

// Quote cuts texts of a guest that the host will log, beyond the limit: those of an error. A line that is cut counts as dropped.
func (o *Limit) Quote(texts ...*string) {
	size := 0
	for _, text := range texts {
		size += len(*text)
	}
	if size <= ShortError || o == nil || o.Allow(size) {
		return
	}
	for _, text := range texts {
		*text = legible.Clip(*text, ShortError)
	}
}

// Flush reports the pending lines.
func (o *Limit) Flush() {
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

// Dropped returns the number of lines that were dropped since the module was loaded.
func (o *Limit) Dropped() int64 { return o.dropped.Load() }

// Rate is the limit of the bucket, in bytes per second.
func (o *Limit) Rate() int { return o.bucket.Limit() }
