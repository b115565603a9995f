package hosting

import (
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/operator"
)

// A limit holds an operator back if it was reached in heldLooks looks of heldWithin, and it
// does so until it has not been reached for heldWithin. A burst is no problem. The looks need
// not follow each other: an operator that waits for processors is stopped less often.
const (
	heldLooks  = 3
	heldWithin = time.Minute
)

// brakes find out which limits hold an operator back for a while.
type brakes struct {
	looked time.Time
	limits map[string]*brake // by name
}

// brake is one limit at the last look.
type brake struct {
	times   uint64
	reached [heldLooks]time.Time // the last looks in which it was reached; the first is the earliest
	held    bool                 // it is reported
}

// look compares the limits with those of the last look, and returns the condition.
func (b *brakes) look(throttles []operator.Throttle, now time.Time) finding {
	if now.Sub(b.looked) >= lookInterval/2 {
		b.looked = now
		b.count(throttles, now)
	}
	var reason string
	var effects []string
	for _, t := range throttles {
		if known := b.limits[t.Limit]; t.Limit != loopRate && (known == nil || !known.held) {
			continue
		}
		if reason == "" {
			reason = t.Limit
		}
		effects = append(effects, "limit "+t.Limit+": "+t.Effect)
	}
	if reason == "" {
		return unthrottled
	}
	return finding{api.Throttled, api.True, reason, strings.Join(effects, "; ")}
}

// loopRate is the limit that an operator reports while it holds.
const loopRate = "LoopRate"

// count notes which limits were reached since the last look.
func (b *brakes) count(throttles []operator.Throttle, now time.Time) {
	if b.limits == nil {
		b.limits = map[string]*brake{}
	}
	for _, t := range throttles {
		known := b.limits[t.Limit]
		if known == nil {
			known = &brake{}
			b.limits[t.Limit] = known
		}
		if t.Times > known.times {
			copy(known.reached[:], known.reached[1:])
			known.reached[heldLooks-1] = now
		}
		known.times = t.Times // it may be less than before, after a replacement
		first, last := known.reached[0], known.reached[heldLooks-1]
		known.held = now.Sub(first) < heldWithin || known.held && now.Sub(last) < heldWithin
	}
}
