package hosting

import (
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"
)

// What the log gets about one operator, in bytes. LogLimit bounds what guests write, but each record is larger than its text, and the
// host writes lines of its own about each call: a timer without an interval causes tens of thousands in a second.
const (
	recordsPerOutput = 4       // times LogLimit, for each second and at once
	leastRecords     = 1 << 20 // where LogLimit is lower
)

// reportRecords is the time between two reports of dropped records.
const reportRecords = time.Second

// records writes the log records about an operator within a limit, and says how many it has dropped. It is safe for concurrent use.
type records struct {
	to     zerolog.LevelWriter
	within *rate.Limiter  // bytes
	log    zerolog.Logger // of the operator, without a limit

	mu      sync.Mutex // guards dropped
	dropped int        // since the last report
}

var _ zerolog.LevelWriter = (*records)(nil)

// Write writes a record without a level.
func (r *records) Write(line []byte) (int, error) { return r.WriteLevel(zerolog.NoLevel, line) }

// WriteLevel writes a record, or drops it.
func (r *records) WriteLevel(level zerolog.Level, line []byte) (int, error) {
	if r.within.AllowN(time.Now(), len(line)) {
		return r.to.WriteLevel(level, line)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dropped++; r.dropped == 1 {
		time.AfterFunc(reportRecords, r.report)
	}
	return len(line), nil
}

func (r *records) report() {
	r.mu.Lock()
	n := r.dropped
	r.dropped = 0
	r.mu.Unlock()
	r.log.Warn().Str("logger", "kopf.hosting").Int("records", n).Msg(fmt.Sprintf("%d records of the operator were dropped: they are more than %d bytes a second.", n, r.within.Burst()))
}

// changeOutput changes the limits of what the log gets.
func (a *allowance) changeOutput(logLimit int) {
	a.output.Change(logLimit)
	most := recordsOf(a.output.Limit())
	a.records.SetLimit(rate.Limit(most))
	a.records.SetBurst(most)
}

// recordsOf returns the limit of the records for a LogLimit.
func recordsOf(logLimit int) int { return max(recordsPerOutput*logLimit, leastRecords) }
