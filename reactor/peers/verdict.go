package peers

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/internal/bounded"
)

// Peers are the operators in one peering object, by their identities.
type Peers []Peer

// String formats the peers for log messages.
func (p Peers) String() string {
	texts := make([]string, len(p))
	for i, peer := range p {
		texts[i] = peer.String()
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// ErrTooMany says that a peering object has more records than operators evaluate.
var ErrTooMany = errors.New("too many records of peers")

// maxValues bounds the values of a peering object: 2,000 peers with what the API server keeps about their records. Each operator evaluates
// the object at each change, and anyone who may write it could let all of them do so for a second.
const maxValues = 20_000

// ParseObject parses all peers of a peering object. It omits records that are invalid, and
// returns one error for each of them. Of an object with too many records it returns ErrTooMany, and no peer.
func ParseObject(object []byte, now time.Time) (Peers, []error) {
	if err := bounded.JSON(object, maxValues); err != nil {
		return nil, []error{fmt.Errorf("%w: %w", ErrTooMany, err)}
	}
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
	Prior Peers // alive, with a higher priority: they work, the operator pauses
	Same  Peers // alive, with the same priority: all of them pause
	Dead  Peers // their records can be removed
}

// Judge compares an operator with all other peers; it ignores the operator's own record.
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

// Pauses reports whether the operator must pause.
func (v Verdict) Pauses() bool { return len(v.Prior)+len(v.Same) > 0 }

// Until returns when the first of the peers that cause the pause may be dead; the zero
// time if no peer causes it.
func (v Verdict) Until() time.Time {
	var first time.Time
	for _, peer := range slices.Concat(v.Prior, v.Same) {
		if deadline := peer.Deadline(); first.IsZero() || deadline.Before(first) {
			first = deadline
		}
	}
	return first
}

// MinJitter and MaxJitter limit how much earlier than its lifetime a record is renewed, so
// that operators do not renew theirs at the same time.
const (
	MinJitter = 5 * time.Second
	MaxJitter = 10 * time.Second
)

// KeepAlive returns the time between two renewals of a record.
func KeepAlive(lifetime, jitter time.Duration) time.Duration {
	return max(time.Second, min(lifetime, lifetime-jitter))
}
