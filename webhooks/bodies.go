package webhooks

import (
	"bytes"
	"container/list"
	"errors"
	"io"
	"net/netip"
	"sync"
)

// memory bounds the bodies of requests, from their first bytes until they are answered.
// When it is full, a body that is still being read makes room for others: the oldest one of
// the client whose bodies have most of the memory. Slow clients cannot keep others out.
type memory struct {
	all int64 // bytes

	mu      sync.Mutex // guards all below, and the sizes of bodies
	used    int64
	coming  int64 // of the bodies that are being read
	clients map[netip.Prefix]*reading
}

// reading are the bodies of one client that are being read, the oldest first.
type reading struct {
	bodies list.List
	size   int64
}

// requestCost is counted for each request in addition to its body: headers, buffers, goroutines.
const requestCost = 16 << 10

// errCrowded is the answer to a request that has to make room.
var errCrowded = errors.New("the reviews that are coming need too much memory")

func newMemory(all int64) *memory { return &memory{all: all, clients: map[netip.Prefix]*reading{}} }

// body is a request that occupies memory.
type body struct {
	memory *memory
	from   netip.Prefix
	abort  func() // makes its reads fail

	size  int64
	place *list.Element // nil: it is not being read
}

// begin counts a request. If the body has to make room, its reads are made to fail by
// abort, which must not block. It counts until release.
//
// Errors: errCrowded.
func (m *memory) begin(from netip.Prefix, abort func()) (*body, error) {
	b := &body{memory: m, from: from, abort: abort}
	m.mu.Lock()
	c := m.clients[from]
	if c == nil {
		c = &reading{}
		m.clients[from] = c
	}
	b.place = c.bodies.PushBack(b)
	m.mu.Unlock()
	if err := b.grow(requestCost); err != nil {
		b.release()
		return nil, err
	}
	return b, nil
}

// grow takes memory for a body that is being read.
//
// Errors: errCrowded; this body or others have to make room.
func (b *body) grow(more int64) error {
	m := b.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if kept := m.used - m.coming; b.place != nil && kept+b.size+more > m.all { // even without the others that are coming
		m.drop(b)
	}
	for b.place != nil && m.used+more > m.all {
		victim := m.victim()
		m.drop(victim)
		if victim != b {
			victim.abort()
		}
	}
	if b.place == nil {
		return errCrowded
	}
	m.used += more
	m.coming += more
	b.size += more
	m.clients[b.from].size += more
	return nil
}

// victim is the body that is to make room. There is one: somebody grows. The lock is held.
func (m *memory) victim() *body {
	var most *reading
	for _, c := range m.clients {
		if most == nil || c.size > most.size {
			most = c
		}
	}
	return most.bodies.Front().Value.(*body)
}

// drop ends the reading of a body, and takes its memory away. The lock is held.
func (m *memory) drop(b *body) {
	m.settle(b)
	m.used -= b.size
	b.size = 0
}

// settle ends the reading of a body, which keeps its memory. The lock is held.
func (m *memory) settle(b *body) {
	c := m.clients[b.from]
	c.bodies.Remove(b.place)
	b.place = nil
	m.coming -= b.size
	if c.size -= b.size; c.bodies.Len() == 0 {
		delete(m.clients, b.from)
	}
}

// whole says that the body has been read: it does not make room for others any more.
//
// Errors: errCrowded; it had to, before.
func (b *body) whole() error {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	if b.place == nil {
		return errCrowded
	}
	b.memory.settle(b)
	return nil
}

// release gives the memory back.
func (b *body) release() {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	if b.place != nil {
		b.memory.settle(b)
	}
	b.memory.used -= b.size
	b.size = 0
}

// believed is how much memory a body gets, at most, before it has sent anything.
const believed = 64 << 10

// read reads the whole body, of a reader that has a limit. Its memory is first what its
// sender announces, as far as that is believed, and then doubles as the body grows.
func (b *body) read(from io.Reader, announced, limit int64) ([]byte, error) {
	var text []byte
	next := int(min(max(announced, 0), believed)) + bytes.MinRead // the room in which the end is seen
	for {
		if len(text) == cap(text) {
			next = max(min(2*cap(text), int(limit)+bytes.MinRead), next, cap(text)+bytes.MinRead)
			if err := b.grow(int64(next - cap(text))); err != nil {
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
