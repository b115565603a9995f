package dryrun

import (
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Cluster is a cluster as it would be after the requests of one operator.
type Cluster struct {
	report func(Request)

	mu       sync.Mutex // guards the fields below, and calls of report
	overlays map[key]*overlay
	feeds    map[*feed]place
	untold   map[key][]byte // newest events of objects that no watch was open for
}

// New makes a cluster that is as the real one. It reports each request, one at a time. The
// function must not make requests.
func New(report func(Request)) *Cluster {
	return &Cluster{report: report, overlays: map[key]*overlay{}, feeds: map[*feed]place{}, untold: map[key][]byte{}}
}

// Report reports a request that does not go through the cluster.
func (c *Cluster) Report(r Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report(r)
}

// phantom returns an object that is gone from the real cluster only.
func (c *Cluster) phantom(k key) dicts.Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.overlays[k]; o != nil {
		return o.phantom
	}
	return nil
}

// touches reports whether any object of a collection would differ.
func (c *Cluster) touches(all collection) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.differs(all)
}

// differs is touches for callers that hold the lock.
func (c *Cluster) differs(all collection) bool {
	for k := range c.overlays {
		if k.collection == all {
			return true
		}
	}
	return false
}

// seen returns a real object as it would be; nil if it would be gone.
func (c *Cluster) seen(k key, real dicts.Object) dicts.Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.overlay(k, real)
	if o != nil && o.released {
		return nil
	}
	return o.over(real)
}

// overlay returns the overlay of an object; nil if it has none, or if another object has
// taken its name. The caller holds the lock.
func (c *Cluster) overlay(k key, object dicts.Object) *overlay {
	if o := c.overlays[k]; o != nil && o.uid == dicts.LookupString(object, "metadata", "uid") {
		return o
	}
	return nil
}

// patch changes an object as the operator would, and tells the watches. Real is the object as
// it is in the cluster, or the phantom.
//
// Errors: those of the edit.
func (c *Cluster) patch(k key, real dicts.Object, edit func(dicts.Object) (dicts.Object, error), r Request) (dicts.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.overlay(k, real)
	before := o.over(real)
	if o != nil && o.phantom != nil {
		before = o.phantom
	}
	would, err := edit(before)
	if err != nil {
		return nil, err
	}
	c.report(r)
	if len(difference(before, would)) == 0 {
		return would, nil
	}
	if o == nil {
		o = &overlay{uid: dicts.LookupString(real, "metadata", "uid")}
		c.overlays[k] = o
	}
	if o.phantom != nil {
		o.phantom = would
	} else {
		o.take(real, would)
	}
	if !isVanishing(would) {
		c.tell(k, "MODIFIED", would)
		return would, nil
	}
	c.tell(k, "DELETED", would)
	if o.phantom != nil {
		delete(c.overlays, k)
	}
	o.released = true
	return would, nil
}

// happens returns the event of a watch as it would be; an empty type: none. The caller holds
// the lock until the event is in the feed, so that no older state follows a newer one.
func (c *Cluster) happens(k key, kind string, real dicts.Object) (string, dicts.Object) {
	if other := c.overlays[k]; other != nil && c.overlay(k, real) == nil {
		if other.phantom != nil && !other.released {
			c.tell(k, "DELETED", other.phantom) // another object has taken its name
		}
		delete(c.overlays, k)
	}
	o := c.overlay(k, real)
	switch {
	case o == nil:
		return kind, real
	case kind != "DELETED" && o.released:
		return "", nil
	case kind != "DELETED":
		return kind, o.over(real)
	case o.released:
		delete(c.overlays, k)
		return "", nil
	}
	would := o.over(real)
	if len(finalizersOf(would)) == 0 {
		delete(c.overlays, k)
		return kind, would
	}
	if _, deleting := dicts.Lookup(would, "metadata", "deletionTimestamp"); !deleting {
		metadata, _ := dicts.MergePatch(would["metadata"], dicts.Object{"deletionTimestamp": time.Now().UTC().Format(time.RFC3339)}).(dicts.Object)
		would = with(would, "metadata", metadata)
	}
	o.phantom = would
	return "MODIFIED", would
}

// phantoms returns the objects of a listing that are gone from the real cluster only.
func (c *Cluster) phantoms(p place) []dicts.Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []dicts.Object
	for k, o := range c.overlays {
		if o.phantom != nil && p.has(k) {
			all = append(all, o.phantom)
		}
	}
	return all
}

// tell adds an event to the watches of an object. While none is open, as between a listing and
// its watch, the event waits for the next one. The caller holds the lock.
func (c *Cluster) tell(k key, kind string, object dicts.Object) {
	line := eventLine(kind, object)
	delete(c.untold, k)
	delivered := false
	for f, p := range c.feeds {
		if p.has(k) {
			f.add(line)
			delivered = true
		}
	}
	if !delivered {
		c.untold[k] = line
	}
}

// open adds a feed, with the events that have waited for it.
func (c *Cluster) open(f *feed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.feeds[f] = f.place
	for k, line := range c.untold {
		if f.place.has(k) {
			f.add(line)
			delete(c.untold, k)
		}
	}
}

// lists drops the events that wait: a new listing shows their objects.
func (c *Cluster) lists(p place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.untold {
		if p.has(k) {
			delete(c.untold, k)
		}
	}
}

// eventLine is an event as a watch sends it.
func eventLine(kind string, object dicts.Object) []byte {
	return append(dicts.Encode(dicts.Members{{Key: "type", Value: kind}, {Key: "object", Value: object}}), '\n')
}
