package processing

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/stores"
)

// largeBody is the size of bodies, in bytes, from which the state may exceed the limit of
// annotations: a character may take six bytes there.
const largeBody = stores.AnnotationsLimit / 8

// checkFits rejects an object whose state cannot be stored, before its handlers run in
// vain. Most objects are too small to need the check.
func (p *Processor) checkFits(c *handling.Cause, state progression.State) error {
	if len(c.Raw) < largeBody {
		return nil
	}
	probe := &stores.Patch{}
	if essence, ok := c.Change().New.(dicts.Object); ok {
		if err := p.Settings.Persistence.DiffBase.Store(c.Body, probe, essence); err != nil {
			return err
		}
	}
	if err := state.Store(c.Body, probe, p.Settings.Persistence.Progress); err != nil {
		return err
	}
	if err := stores.CheckAnnotations(c.Body, probe); err != nil {
		return fmt.Errorf("the object is too large to be handled: %w", err)
	}
	return nil
}

// A user may remove the state of an object once or twice, to have the object handled
// again. If the state is always removed, the object would be handled for ever.
const (
	lossLimit = 3
	lossTime  = time.Minute
)

// stateLoss detects that the stored state of an object is removed repeatedly.
type stateLoss struct {
	essence uint64 // hash of the last stored essence; zero: none
	pending uint64 // hash of the last essence of an unfinished creation; zero: none
	since   time.Time
	count   int
}

// stored remembers the essence that was stored for a new object.
func (s *stateLoss) stored(essence dicts.Object) { s.essence, s.pending = hashOf(essence), 0 }

// unfinished remembers a new object whose handlers must be called again.
func (s *stateLoss) unfinished(c *handling.Cause) {
	if k := c.Change(); k.Reason == causes.Create {
		s.pending = hashOf(k.New)
	}
}

// dropped records that the server has dropped a part of the patch of the object, perhaps
// the progress of its handlers. Without progress, they would be called repeatedly without
// their delays.
func (s *stateLoss) dropped() {
	if s.pending != 0 {
		s.essence = s.pending
	}
}

// hashOf returns a hash that is never zero.
func hashOf(essence any) uint64 {
	hash := fnv.New64a()
	hash.Write(dicts.Encode(essence)) // never fails
	return hash.Sum64() | 1
}

// isEndless reports whether an object appears new only because its state is always
// removed. It logs this once.
func (s *stateLoss) isEndless(c *handling.Cause) bool {
	if k := c.Change(); k.Reason != causes.Create || s.essence == 0 || s.essence != hashOf(k.New) {
		return false
	}
	if time.Since(s.since) > lossTime {
		s.since, s.count = time.Now(), 0
	}
	s.count++
	if s.count == lossLimit+1 {
		c.Log.Warn("Somebody always removes the last-handled state of the object. " +
			"It will not be handled as a new one until it changes, or is left alone for a minute.")
	}
	return s.count > lossLimit
}
