// Package peers decides which operators work and which pause. It evaluates the records
// that operators write about themselves into peering objects. It is pure; package peering
// makes the requests.
//
// Kopf: kopf._core.engines.peering (v1.45); https://docs.kopf.dev/en/latest/peering/
package peers

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/internal/durations"
	"github.com/kopf-wasm/kopf/stores"
)

// defaultLifetime is the lifetime of records that contain none.
const defaultLifetime = 60 * time.Second

// Peer is an operator as its last record in the peering object describes it.
type Peer struct {
	Identity string
	Priority int
	Lifetime time.Duration // whole seconds; 0: the operator has withdrawn
	LastSeen time.Time
}

// Record is the form of a peer in the status of a peering object, under its identity.
type Record struct {
	Priority int    `json:"priority"`
	Lifetime int    `json:"lifetime"` // in seconds
	LastSeen string `json:"lastseen"` // in ISO 8601, with the zone
}

// Parse parses a record. Defaults: priority 0, lifetime 60 seconds, last seen now. It
// ignores unknown fields.
func Parse(identity string, raw []byte, now time.Time) (Peer, error) {
	var record struct {
		Priority json.RawMessage `json:"priority"`
		Lifetime json.RawMessage `json:"lifetime"`
		LastSeen *string         `json:"lastseen"`
	}
	if err := json.Unmarshal(raw, &record); err != nil {
		return Peer{}, fmt.Errorf("the record of the peer %s: %w", identity, err)
	}
	peer := Peer{Identity: identity, Lifetime: defaultLifetime, LastSeen: now.UTC()}
	var err error
	if record.Priority != nil && string(record.Priority) != "null" {
		priority, err := parseNumber(record.Priority)
		if err != nil {
			return Peer{}, fmt.Errorf("the record of the peer %s: priority: %w", identity, err)
		}
		peer.Priority = int(max(math.MinInt32, min(priority, math.MaxInt32)))
	}
	if record.Lifetime != nil {
		seconds, err := parseNumber(record.Lifetime)
		if err != nil {
			return Peer{}, fmt.Errorf("the record of the peer %s: lifetime: %w of seconds", identity, err)
		}
		peer.Lifetime = durations.Seconds(seconds).Truncate(time.Second)
	}
	if record.LastSeen != nil {
		if peer.LastSeen, _, err = stores.ParseTime(*record.LastSeen); err != nil {
			return Peer{}, fmt.Errorf("the record of the peer %s: lastseen: %w", identity, err)
		}
	}
	return peer, nil
}

// parseNumber parses a number, or a string with a whole one, as in Kopf.
func parseNumber(raw json.RawMessage) (number float64, err error) {
	text := strings.TrimSpace(string(raw))
	if quoted := strings.Trim(text, `"`); quoted != text {
		whole, err := strconv.Atoi(strings.TrimSpace(quoted))
		if err != nil {
			return 0, fmt.Errorf("%s is not a number", text)
		}
		return float64(whole), nil
	}
	if err := json.Unmarshal(raw, &number); err != nil || text == "null" {
		return 0, fmt.Errorf("%s is not a number", text)
	}
	return number, nil
}

// Record returns the record of the peer.
func (p Peer) Record() Record {
	return Record{
		Priority: p.Priority, Lifetime: int(p.Lifetime / time.Second),
		LastSeen: strings.Replace(stores.FormatTime(p.LastSeen), ".000000", "", 1), // as Python's isoformat
	}
}

// Deadline returns when the peer counts as dead, unless it renews its record.
func (p Peer) Deadline() time.Time { return p.LastSeen.Add(p.Lifetime) }

// Dead reports whether the deadline has passed.
func (p Peer) Dead(now time.Time) bool { return !p.Deadline().After(now) }

// String formats the peer for log messages.
func (p Peer) String() string {
	r := p.Record()
	return fmt.Sprintf("<Peer %s: priority=%d, lifetime=%d, lastseen='%s'>", p.Identity, r.Priority, r.Lifetime, r.LastSeen)
}
