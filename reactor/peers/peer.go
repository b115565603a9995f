// Package peers decides which of the operators that know each other work, and
// which ones pause: what they write about themselves into peering objects, and
// what that means for one of them. It is pure; requests are made elsewhere.
//
// Kopf: kopf._core.engines.peering (v1.45); https://docs.kopf.dev/en/latest/peering/
package peers

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/stores"
)

// DefaultLifetime is the lifetime of peers that do not tell theirs.
const DefaultLifetime = 60 * time.Second

// Peer is an operator, as it has last described itself in the peering object.
type Peer struct {
	Identity string
	Priority int
	Lifetime time.Duration // whole seconds; 0: it is not there anymore
	LastSeen time.Time
}

// Record is a peer in the status of a peering object, under its identity.
type Record struct {
	Priority int    `json:"priority"`
	Lifetime int    `json:"lifetime"` // in seconds
	LastSeen string `json:"lastseen"` // in ISO 8601, with the zone
}

// Parse reads a record. Fields that are absent have defaults: 0, 60 seconds, now;
// unknown ones are ignored.
func Parse(identity string, raw []byte, now time.Time) (Peer, error) {
	var record struct {
		Priority *float64        `json:"priority"`
		Lifetime json.RawMessage `json:"lifetime"`
		LastSeen *string         `json:"lastseen"`
	}
	if err := json.Unmarshal(raw, &record); err != nil {
		return Peer{}, fmt.Errorf("the record of the peer %s: %w", identity, err)
	}
	peer := Peer{Identity: identity, Lifetime: DefaultLifetime, LastSeen: now.UTC()}
	var err error
	if record.Priority != nil {
		peer.Priority = int(*record.Priority)
	}
	if record.Lifetime != nil {
		if peer.Lifetime, err = parseLifetime(record.Lifetime); err != nil {
			return Peer{}, fmt.Errorf("the record of the peer %s: lifetime: %w", identity, err)
		}
	}
	if record.LastSeen != nil {
		if peer.LastSeen, _, err = stores.ParseTime(*record.LastSeen); err != nil {
			return Peer{}, fmt.Errorf("the record of the peer %s: lastseen: %w", identity, err)
		}
	}
	return peer, nil
}

// parseLifetime reads whole seconds, of a number or a string.
func parseLifetime(raw json.RawMessage) (time.Duration, error) {
	var seconds float64
	text := strings.TrimSpace(string(raw))
	if quoted := strings.Trim(text, `"`); quoted != text {
		whole, err := strconv.Atoi(strings.TrimSpace(quoted))
		if err != nil {
			return 0, fmt.Errorf("%s is not a number of seconds", text)
		}
		seconds = float64(whole)
	} else if err := json.Unmarshal(raw, &seconds); err != nil || text == "null" {
		return 0, fmt.Errorf("%s is not a number of seconds", text)
	}
	const century = 100 * 365 * 24 * 3600 // far from the limits of time.Duration
	return time.Duration(max(-century, min(seconds, century))) * time.Second, nil
}

// Record is what is written of the peer.
func (p Peer) Record() Record {
	seen := p.LastSeen.Format("2006-01-02T15:04:05.000000-07:00")
	return Record{
		Priority: p.Priority, Lifetime: int(p.Lifetime / time.Second),
		LastSeen: strings.Replace(seen, ".000000", "", 1), // as Python's isoformat
	}
}

// Deadline is when the peer is taken for dead, unless it is seen again.
func (p Peer) Deadline() time.Time { return p.LastSeen.Add(p.Lifetime) }

// Dead tells whether the deadline is over.
func (p Peer) Dead(now time.Time) bool { return !p.Deadline().After(now) }

// String is the peer as log messages show it.
func (p Peer) String() string {
	r := p.Record()
	return fmt.Sprintf("<Peer %s: priority=%d, lifetime=%d, lastseen='%s'>", p.Identity, r.Priority, r.Lifetime, r.LastSeen)
}
