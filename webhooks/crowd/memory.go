package crowd

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"io"
	"net/netip"
	"sync"
)

// Memory bounds the request bodies in memory, from the first byte to the answer. When it is
// full, the oldest unread body of the client with the most memory is dropped. Slow clients
// therefore cannot lock out other clients. The memory of a dropped body counts until its
// reader has ended. Other bodies do not grow into it before: a thousand clients whose bodies
// are dropped would otherwise hold many times the bound.
type Memory struct {
	all    int64   // bytes
	within *Memory // all bodies count there, too; nil: nowhere

	mu      sync.Mutex // guards all below, and the sizes of bodies
	used    int64      // without dropped bodies
	dropped int64      // bytes of dropped bodies whose readers have not ended
	coming  int64      // bytes of the bodies that are still being read
	clients map[netip.Prefix]*reading
	changed chan struct{} // closed when a body is dropped or released; nil if none waits for that
}

// reading holds the bodies of one client that are still being read, oldest first.
type reading struct {
	bodies list.List
	size   int64
}

// requestCost is the memory of a request in addition to its body: headers, buffers,
// goroutines.
const requestCost = 16 << 10

// ErrMemory is the error of a request whose body or answer was dropped.
var ErrMemory = errors.New("the reviews of clients and their answers need too much memory")

// NewMemory makes memory of so many bytes.
func NewMemory(all int64) *Memory {
	return &Memory{all: all, clients: map[netip.Prefix]*reading{}}
}

// Half makes memory of half the size, whose bodies count in this one, too.
func (m *Memory) Half() *Memory {
	half := NewMemory(m.all / 2)
	half.within = m
	return half
}

// Body is a request that occupies memory.
type Body struct {
	memory *Memory
	from   netip.Prefix
	abort  func() // makes its reads fail

	shared *Body           // the same body in the memory that this one is a part of; nil without one
	over   <-chan struct{} // closed when one of the memories has dropped the body; nil without a shared server

	size    int64
	place   *list.Element // nil once the body has been read or dropped
	dropped bool
}

// Begin counts a request until Release, in the shared memory of several operators, too, if that is not
// nil. To drop the body, Memory calls abort, which makes its reads fail and must not block. If one memory
// drops the body, its reader does not wait for the others: two readers could else wait for each other.
//
// Errors: ErrMemory; the end of the context.
func (m *Memory) Begin(ctx context.Context, shared *Memory, from netip.Prefix, abort func()) (*Body, error) {
	if shared == nil {
		return m.add(ctx, &Body{memory: m, from: from, abort: abort})
	}
	over := make(chan struct{})
	end := sync.OnceFunc(func() {
		close(over)
		abort()
	})
	above, err := shared.join(ctx, from, end, over)
	if err != nil {
		return nil, err
	}
	return m.add(ctx, &Body{memory: m, from: from, abort: end, over: over, shared: above})
}

// join counts a request in a shared memory, and in the one that it is a part of.
func (m *Memory) join(ctx context.Context, from netip.Prefix, abort func(), over <-chan struct{}) (*Body, error) {
	b := &Body{memory: m, from: from, abort: abort, over: over}
	if m.within != nil {
		var err error
		if b.shared, err = m.within.join(ctx, from, abort, over); err != nil {
			return nil, err
		}
	}
	return m.add(ctx, b)
}

// add counts a new body, which is released after an error.
func (m *Memory) add(ctx context.Context, b *Body) (*Body, error) {
	m.mu.Lock()
	c := m.clients[b.from]
	if c == nil {
		c = &reading{}
		m.clients[b.from] = c
	}
	b.place = c.bodies.PushBack(b)
	m.mu.Unlock()
	if err := b.growHere(ctx, requestCost); err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

// Grow takes memory for a body that is being read. It waits for the readers of dropped
// bodies.
//
// Errors: ErrMemory if this body was dropped; the end of the context.
func (b *Body) Grow(ctx context.Context, more int64) error {
	if b.shared != nil {
		if err := b.shared.Grow(ctx, more); err != nil {
			return err
		}
	}
	return b.growHere(ctx, more)
}

// growHere takes memory from the memory of the body alone.
func (b *Body) growHere(ctx context.Context, more int64) error {
	for {
		changed, err := b.tryToGrow(more)
		if changed == nil {
			return err
		}
		select {
		case <-changed:
		case <-b.over:
			return ErrMemory
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tryToGrow takes memory, and drops other bodies for it. If memory is yet to come from
// dropped bodies, it returns a channel that is closed when something has changed.
func (b *Body) tryToGrow(more int64) (changed chan struct{}, err error) {
	m := b.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if kept := m.used - m.coming; b.place != nil && kept+b.size+more > m.all { // too large even if all other unread bodies were dropped
		m.drop(b)
	}
	for b.place != nil && m.used+more > m.all {
		victim := m.victim()
		m.drop(victim)
		if victim != b {
			victim.abort()
		}
	}
	switch {
	case b.place == nil:
		return nil, ErrMemory
	case m.used+m.dropped+more > m.all:
		if m.changed == nil {
			m.changed = make(chan struct{})
		}
		return m.changed, nil
	}
	m.used += more
	m.coming += more
	b.size += more
	m.clients[b.from].size += more
	return nil, nil
}

// notify wakes the bodies that wait for memory. The caller holds the lock.
func (m *Memory) notify() {
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// victim is the body to drop. There is always one, because the growing body is a candidate.
// The caller holds the lock.
func (m *Memory) victim() *Body {
	var most *reading
	for _, c := range m.clients {
		if most == nil || c.size > most.size {
			most = c
		}
	}
	return most.bodies.Front().Value.(*Body)
}

// drop ends the reading of a body. Its memory is free when its reader releases it. The caller
// holds the lock.
func (m *Memory) drop(b *Body) {
	m.finish(b)
	m.used -= b.size
	m.dropped += b.size
	b.dropped = true
	m.notify()
}

// finish ends the reading of a body, which keeps its memory. The caller holds the lock.
func (m *Memory) finish(b *Body) {
	c := m.clients[b.from]
	c.bodies.Remove(b.place)
	b.place = nil
	m.coming -= b.size
	if c.size -= b.size; c.bodies.Len() == 0 {
		delete(m.clients, b.from)
	}
}

// whole marks the body as read: it can no longer be dropped.
//
// Errors: ErrMemory if the body was dropped before.
func (b *Body) whole() error {
	if b.shared != nil {
		if err := b.shared.whole(); err != nil {
			return err
		}
	}
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	if b.place == nil {
		return ErrMemory
	}
	b.memory.finish(b)
	return nil
}

// Release frees the memory of the request. It does nothing when it is called again.
func (b *Body) Release() {
	if b.shared != nil {
		b.shared.Release()
	}
	m := b.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if b.place != nil {
		m.finish(b)
	}
	if b.dropped {
		m.dropped -= b.size
	} else {
		m.used -= b.size
	}
	b.size = 0
	m.notify()
}

// believed bounds the memory that an announced length reserves before any data arrives, in
// bytes.
const believed = 64 << 10

// Read reads the whole body from a reader that has a limit. The buffer starts with the
// announced length, at most believed, and doubles as the body grows.
func (b *Body) Read(ctx context.Context, from io.Reader, announced, limit int64) ([]byte, error) {
	var text []byte
	next := int(min(max(announced, 0), believed)) + bytes.MinRead // the extra room lets the reader see the end
	for {
		if len(text) == cap(text) {
			next = max(min(2*cap(text), int(limit)+bytes.MinRead), next, cap(text)+bytes.MinRead)
			if err := b.Grow(ctx, int64(next-cap(text))); err != nil {
				return nil, err
			}
			text = append(make([]byte, 0, next), text...)
		}
		n, err := from.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case errors.Is(err, io.EOF):
			return text, b.whole()
		case err != nil:
			return nil, err
		}
	}
}
