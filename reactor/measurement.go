package reactor

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/meters"
)

// Meters returns what the operator measures. It can be read at any time.
func (op *Operator) Meters() *meters.Operator { return &op.meters }

// Backlog is what waits in the queues of one resource in one namespace.
type Backlog struct {
	Resource, Namespace string // as in watching.State

	Queued  int           // events that wait for a worker
	Working int           // objects whose events are handled, including those that wait for the next attempt of a handler
	Age     time.Duration // how long the oldest event has waited; 0 if none waits
}

// Backlogs returns what waits now, sorted by resource and namespace. A stream that ends and its
// successor count together.
func (op *Operator) Backlogs() []Backlog {
	now, all := time.Now(), map[dimensions.Key]Backlog{}
	for _, s := range op.streams.Now() {
		b := all[s.Dimension.Key()]
		b.Resource, b.Namespace = s.Dimension.Resource.String(), s.Dimension.Namespace
		queued, working := s.Load()
		b.Queued, b.Working = b.Queued+queued, b.Working+working
		if oldest := s.Oldest(); !oldest.IsZero() {
			b.Age = max(b.Age, now.Sub(oldest))
		}
		all[s.Dimension.Key()] = b
	}
	return slices.SortedFunc(maps.Values(all), func(a, b Backlog) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace))
	})
}
