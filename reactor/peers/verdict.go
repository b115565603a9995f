package peers

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Peers are the operators in one peering object, by their identities.
type Peers []Peer

// String lists the peers as log messages show them.
func (p Peers) String() string {
	texts := make([]string, len(p))
	for i, peer := range p {
		texts[i] = peer.String()
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// ParseObject reads all peers of a peering object. Records that cannot be read
// are left out, with an error for each of them.
func ParseObject(object []byte, now time.Time) (Peers, []error) {
	var body struct {
		Status map[string]json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(object, &body); err != nil {
		return nil, []error{fmt.Errorf("the peering object: %w", err)}
	}
	var peers Peers
	var failures []error
	for _, identity := range slices.Sorted(maps.Keys(body.Status)) {
		peer, err := Parse(identity, body.Status[identity], now)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		peers = append(peers, peer)
	}
	return peers, failures
}

// Verdict is what the peers mean for one operator.
type Verdict struct {
	Prior Peers // alive, and more important: they work, we pause
	Same  Peers // alive, and as important: nobody works
	Dead  Peers // their records can be removed
}

// Judge compares an operator with all others; its own record does not count.
func Judge(peers Peers, identity string, priority int, now time.Time) Verdict {
	var v Verdict
	for _, peer := range peers {
		switch {
		case peer.Identity == identity:
		case peer.Dead(now):
			v.Dead = append(v.Dead, peer)
		case peer.Priority > priority:
			v.Prior = append(v.Prior, peer)
		case peer.Priority == priority:
			v.Same = append(v.Same, peer)
		}
	}
	return v
}

// Pauses tells whether the operator is to pause.
func (v Verdict) Pauses() bool { return len(v.Prior)+len(v.Same) > 0 }

// Until is when the first of those that make the operator pause may be dead; the
// zero time if there are none.
func (v Verdict) Until() time.Time {
	var first time.Time
	for _, peer := range slices.Concat(v.Prior, v.Same) {
		if deadline := peer.Deadline(); first.IsZero() || deadline.Before(first) {
			first = deadline
		}
	}
	return first
}

// MinJitter and MaxJitter bound how much earlier than its lifetime the record of
// an operator is renewed, so that the operators do not all do it at once.
const (
	MinJitter = 5 * time.Second
	MaxJitter = 10 * time.Second
)

// KeepAlive is the time from one keep-alive to the next one.
func KeepAlive(lifetime, jitter time.Duration) time.Duration {
	return max(time.Second, min(lifetime, lifetime-jitter))
}
