package hosting

import (
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/operator"
)

// heldLooks is the number of looks after which a limit that was reached in all of them is
// reported, and the number of looks without it until the report ends. A burst is no problem.
const heldLooks = 3

// brakes find out which limits hold an operator back for a while.
type brakes struct {
	looked time.Time
	limits map[string]*brake // by name
}

// brake is one limit at the last look.
type brake struct {
	times uint64
	looks int  // in which the limit was reached, less those in which it was not; between 0 and heldLooks
	held  bool // it is reported
}

// look compares the limits with those of the last look, and returns the condition.
func (b *brakes) look(throttles []operator.Throttle, now time.Time) finding {
	if now.Sub(b.looked) >= lookInterval/2 {
		b.looked = now
		b.count(throttles)
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
func (b *brakes) count(throttles []operator.Throttle) {
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
			known.looks = min(known.looks+1, heldLooks)
		} else {
			known.looks = max(known.looks-1, 0)
		}
		known.times = t.Times // it may be less than before, after a replacement
		known.held = known.looks == heldLooks || known.held && known.looks > 0
	}
}
