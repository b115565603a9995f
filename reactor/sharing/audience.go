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
	labels    map[filters.Label]map[*cursor]struct{}
	finalizer map[string]map[*cursor]struct{}
	objects   map[string][]*cursor // the subscribers that an object has concerned, by Meta.Key

	round uint64 // number of the event that subscribers are chosen for
	found []*cursor
}

func newAudience() *audience {
	return &audience{
		all: map[*cursor]struct{}{}, selective: map[*cursor]struct{}{},
		labels: map[filters.Label]map[*cursor]struct{}{}, finalizer: map[string]map[*cursor]struct{}{}, objects: map[string][]*cursor{},
	}
}

// add adds a subscriber with the objects that it knows.
func (a *audience) add(c *cursor) {
	i := c.interest
	if i == nil {
		a.all[c] = struct{}{}
		return
	}
	a.selective[c] = struct{}{}
	enter(a.finalizer, i.Finalizer, c)
	for _, required := range i.Labels {
		label := a.rarest(required)
		c.labels = append(c.labels, label)
		enter(a.labels, label, c)
	}
	for key := range c.known {
		a.follow(key, c)
	}
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
	for _, c := range a.found[following:] {
		a.follow(key, c)
	}
	return a.found
}

// chooseBy chooses the subscribers whose interest includes an object.
func (a *audience) chooseBy(m interests.Marks) {
	if m.Unreadable {
		a.chooseFrom(a.selective, m)
		return
	}
	for name, value := range m.Labels {
		a.chooseFrom(a.labels[filters.Label{Key: name, Value: value}], m)
		a.chooseFrom(a.labels[filters.Label{Key: name, Any: true}], m)
	}
	for _, name := range m.Finalizers {
		a.chooseFrom(a.finalizer[name], m)
	}
}

func (a *audience) chooseFrom(candidates map[*cursor]struct{}, m interests.Marks) {
	for c := range candidates {
		if c.interest.Concerns(m) {
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
// replayed in their order.
func (a *audience) replay(c *cursor, e *entry) bool {
	if c.interest == nil {
		return true
	}
	key := e.event.Meta.Key()
	if !slices.Contains(a.objects[key], c) && !c.interest.Concerns(e.marks) {
		return false
	}
	if e.event.Type == watching.Deleted {
		a.unfollow(key, func(other *cursor) bool { return other == c })
	} else {
		a.follow(key, c)
	}
	return true
}

// forget drops a deleted object. A subscriber whose listing is newer may know another object
// with the same key, if objects of the resource have no uid.
func (a *audience) forget(e *entry) {
	a.unfollow(e.event.Meta.Key(), func(c *cursor) bool { return !c.isKnown(e) })
}

// unfollow ends follow for some subscribers, and for those that have left.
func (a *audience) unfollow(key string, by func(*cursor) bool) {
	a.objects[key] = slices.DeleteFunc(a.objects[key], func(c *cursor) bool { return c.closed || by(c) })
	if len(a.objects[key]) == 0 {
		delete(a.objects, key)
	}
}

// follow lets all events of an object concern a subscriber until it is deleted. It takes the
// place of subscribers that have left.
func (a *audience) follow(key string, c *cursor) {
	followers := slices.DeleteFunc(a.objects[key], func(f *cursor) bool { return f.closed || f == c })
	a.objects[key] = append(followers, c)
}

// enter adds a subscriber to those that are found by something.
func enter[K comparable](index map[K]map[*cursor]struct{}, by K, c *cursor) {
	if index[by] == nil {
		index[by] = map[*cursor]struct{}{}
	}
	index[by][c] = struct{}{}
}

// leave is the opposite of enter.
func leave[K comparable](index map[K]map[*cursor]struct{}, by K, c *cursor) {
	if delete(index[by], c); len(index[by]) == 0 {
		delete(index, by)
	}
}
