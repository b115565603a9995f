package endpoints

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/hosting/facts"
)

// Bounds of reports.
const (
	reportTime   = time.Second // how long a report is shown
	maxOperators = 5000        // of a report
)

// reports makes reports, and keeps each for a short time: a flood of requests costs as
// little as one request per second.
type reports struct {
	source  Source
	version string
	started time.Time

	mu    sync.Mutex // held while a report is made
	last  *facts.Report
	until time.Time
}

func newReports(source Source, version string) *reports {
	return &reports{source: source, version: version, started: time.Now().UTC()}
}

// latest returns a report of the last second. The caller must not change it.
func (r *reports) latest() *facts.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.last == nil || !now.Before(r.until) {
		r.last, r.until = r.make(now), now.Add(reportTime)
	}
	return r.last
}

func (r *reports) make(now time.Time) *facts.Report {
	all := r.source.Facts()
	report := &facts.Report{Schema: facts.Schema, Time: now.UTC(), Operators: all}
	report.Host = facts.Host{Version: r.version, Started: r.started, Operators: len(all), HeapBytes: heap(), Goroutines: runtime.NumGoroutine()}
	report.Host.Memory, report.Host.Replicas = r.source.SharedMemory(), r.source.Replicas()
	for i := range all {
		if all[i].Ready {
			report.Host.Ready++
		}
	}
	if len(all) > maxOperators {
		report.Operators, report.Omitted = all[:maxOperators], len(all)-maxOperators
	}
	return report
}

// heap returns the size of the objects in the heap of Go, in bytes.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
