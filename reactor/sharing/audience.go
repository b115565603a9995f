package sharing

import (
	"slices"

	"github.com/kopf-wasm/kopf/reactor/filters"
	"github.com/kopf-wasm/kopf/reactor/interests"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// audience are the subscribers of one connection of a feed. It chooses those that an event
// concerns, without a look at the others. The feed's mutex guards it.
//
// # Guarantees
//
//   - An event concerns a subscriber without an interest; one whose interest includes the
//     object; and one that an earlier event of the object has concerned, or that knew the
//     object when it joined, until the object is deleted.
//   - It holds objects only for subscribers with an interest: those that concern them.
type audience struct {
	all       map[*cursor]struct{} // without an interest
	selective map[*cursor]struct{} // with an interest
	labels    map[filters.Label]map[*cursor]requirements
	finalizer map[string]map[*cursor]struct{}
	objects   map[string][]*cursor // the subscribers that an object has concerned, by Meta.Key

	round uint64 // number of the event that subscribers are chosen for
	found []*cursor
}

// requirements are the labels that handlers of one subscriber require: of those handlers that it
// is found for by one label. So each handler is looked at once, however many labels an object has.
type requirements [][]filters.Label

func newAudience() *audience {
	return &audience{
		all: map[*cursor]struct{}{}, selective: map[*cursor]struct{}{},
		labels: map[filters.Label]map[*cursor]requirements{}, finalizer: map[string]map[*cursor]struct{}{}, objects: map[string][]*cursor{},
	}
}

// add adds a subscriber. It is complete after settle.
func (a *audience) add(c *cursor) {
	i := c.interest
	if i == nil {
		a.all[c] = struct{}{}
		return
	}
	a.selective[c] = struct{}{}
	if a.finalizer[i.Finalizer] == nil {
		a.finalizer[i.Finalizer] = map[*cursor]struct{}{}
	}
	a.finalizer[i.Finalizer][c] = struct{}{}
	for _, required := range i.Labels {
		label := a.rarest(required)
		if a.labels[label] == nil {
			a.labels[label] = map[*cursor]requirements{}
		}
		a.labels[label][c] = append(a.labels[label][c], required)
		c.labels = append(c.labels, label)
	}
}

// settle lets the objects concern a new subscriber that it knows, and those of the events that
// were replayed.
func (a *audience) settle(c *cursor) {
	for key := range c.follows {
		a.follow(key, c)
	}
	c.follows = nil
}

// rarest returns the label that the fewest subscribers are found by. Any of those that a
// handler requires would do.
func (a *audience) rarest(required []filters.Label) filters.Label {
	return slices.MinFunc(required, func(x, y filters.Label) int { return len(a.labels[x]) - len(a.labels[y]) })
}

// remove removes a subscriber. Its objects go with them, or with the connection.
func (a *audience) remove(c *cursor) {
	delete(a.all, c)
	delete(a.selective, c)
	if c.interest == nil {
		return
	}
	leave(a.finalizer, c.interest.Finalizer, c)
	for _, label := range c.labels {
		leave(a.labels, label, c)
	}
}

// rouse rouses all subscribers that wait.
func (a *audience) rouse() {
	for c := range a.all {
		c.roused()
	}
	for c := range a.selective {
		c.roused()
	}
}

// of chooses the subscribers of an event. The result is valid until the next call.
func (a *audience) of(e *entry) []*cursor {
	a.round++
	a.found = a.found[:0]
	for c := range a.all {
		a.found = append(a.found, c)
	}
	if len(a.selective) == 0 {
		return a.found
	}
	key := e.event.Meta.Key()
	for _, c := range a.objects[key] {
		if !c.closed {
			a.choose(c)
		}
	}
	following := len(a.found)
	a.chooseBy(e.marks)
	if e.event.Type == watching.Deleted {
		a.forget(e)
		return a.found
	}
	if found := a.found[following:]; len(found) > 0 {
		a.follow(key, found...)
	}
	return a.found
}

// chooseBy chooses the subscribers whose interest includes an object.
func (a *audience) chooseBy(m interests.Marks) {
	if m.Unreadable {
		for c := range a.selective {
			a.choose(c)
		}
		return
	}
	for name, value := range m.Labels {
		a.chooseFrom(a.labels[filters.Label{Key: name, Value: value}], m)
		a.chooseFrom(a.labels[filters.Label{Key: name, Any: true}], m)
	}
	for _, name := range m.Finalizers {
		for c := range a.finalizer[name] {
			a.choose(c)
		}
	}
}

// chooseFrom chooses the candidates that an object has all labels for.
func (a *audience) chooseFrom(candidates map[*cursor]requirements, m interests.Marks) {
	for c, required := range candidates {
		if c.round != a.round && slices.ContainsFunc(required, m.Have) {
			a.choose(c)
		}
	}
}

func (a *audience) choose(c *cursor) {
	if c.round != a.round {
		c.round = a.round
		a.found = append(a.found, c)
	}
}

// replay reports whether an event from before a subscriber has joined concerns it. Events are
// replayed in their order, between add and settle.
func (a *audience) replay(c *cursor, e *entry) bool {
	if c.interest == nil {
		return true
	}
	key := e.event.Meta.Key()
	if _, follows := c.follows[key]; !follows && !c.interest.Concerns(e.marks) {
		return false
	}
	if e.event.Type == watching.Deleted {
		delete(c.follows, key)
	} else {
		c.follows[key] = struct{}{}
	}
	return true
}

// forget drops a deleted object. A subscriber whose listing is newer may know another object
// with the same key, if objects of the resource have no uid.
func (a *audience) forget(e *entry) {
	key := e.event.Meta.Key()
	left := slices.DeleteFunc(a.objects[key], func(c *cursor) bool { return c.closed || !c.isKnown(e) })
	if a.objects[key] = left; len(left) == 0 {
		delete(a.objects, key)
	}
}

// follow lets all events of an object concern subscribers until it is deleted. None of them
// follows it yet. They take the places of subscribers that have left, before the list grows: a
// look at all of them for each that joins would take the square of their number.
func (a *audience) follow(key string, more ...*cursor) {
	followers := a.objects[key]
	if len(followers)+len(more) > cap(followers) {
		followers = slices.DeleteFunc(followers, func(f *cursor) bool { return f.closed })
	}
	a.objects[key] = append(followers, more...)
}

// leave removes a subscriber from those that are found by something.
func leave[K comparable, V any](index map[K]map[*cursor]V, by K, c *cursor) {
	if delete(index[by], c); len(index[by]) == 0 {
		delete(index, by)
	}
}
