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

// stateLoss detects that the stored state of an object is removed repeatedly: the essence
// of what was handled, or the progress of handlers. Causes are known by hashes of their
// reasons and essences; zero means no loss.
type stateLoss struct {
	lost      uint64 // the last cause whose state was stored, or was dropped: without it, the cause comes again
	handled   uint64 // the cause that the next patch concludes
	unsettled uint64 // the last cause whose handlers must be called again
	repeated  *repetition
}

// repetition counts how often the state of an object was removed lately.
type repetition struct {
	since time.Time
	count int
}

// concluded remembers a cause whose essence the next patch stores.
func (s *stateLoss) concluded(k *handling.Change) { s.handled, s.unsettled = hashOf(k), 0 }

// unfinished remembers a cause whose handlers must be called again.
func (s *stateLoss) unfinished(k *handling.Change) { s.handled, s.unsettled = 0, hashOf(k) }

// written records the patch of a cycle. If the server has dropped a part of it, that may be
// the progress of handlers. Without progress, they would be called repeatedly without their
// delays. A failed patch has stored nothing, so the state cannot be lost.
func (s *stateLoss) written(dropped bool, err error) {
	switch {
	case err != nil:
	case s.handled != 0:
		s.lost = s.handled
	case dropped && s.unsettled != 0:
		s.lost = s.unsettled
	}
	s.handled = 0
}

// hashOf returns a hash of a cause that is never zero.
func hashOf(k *handling.Change) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(k.Reason))    // never fails
	hash.Write(dicts.Encode(k.New)) // never fails
	return hash.Sum64() | 1
}

// isEndless reports whether a cause comes again only because its state is always removed.
// It logs this once.
func (s *stateLoss) isEndless(c *handling.Cause) bool {
	k := c.Change()
	if s.lost == 0 || s.lost != hashOf(k) {
		return false
	}
	if s.repeated == nil || time.Since(s.repeated.since) > lossTime {
		s.repeated = &repetition{since: time.Now()}
	}
	s.repeated.count++
	if s.repeated.count == lossLimit+1 {
		c.Log.Warn(lossWarning(k.Reason))
	}
	return s.repeated.count > lossLimit
}

// lossWarning is the warning about a cause whose state is always removed.
func lossWarning(reason causes.Reason) string {
	switch reason {
	case causes.Create:
		return "Another client keeps removing the last-handled state of the object. " +
			"It will not be handled as a new one until it changes, or is left alone for a minute."
	case causes.Delete:
		return "Another client keeps removing the progress of the deletion handlers from the object. They will be called again in a minute."
	}
	return fmt.Sprintf("Another client keeps removing the progress of handlers from the object. "+
		"Its %s will not be handled until the object changes, or is left alone for a minute.", reason.Title())
}

// pause returns when a cause that is endless is due again. An object that is being deleted
// is kept until its handlers have succeeded. Others wait for an event.
func (s *stateLoss) pause(reason causes.Reason) []time.Duration {
	if reason != causes.Delete {
		return nil
	}
	return []time.Duration{max(lossTime-time.Since(s.repeated.since), 0) + time.Second}
}
