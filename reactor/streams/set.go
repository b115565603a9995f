package streams

import (
	"maps"
	"slices"
	"sync"

	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// Set holds the running streams of objects. The zero value is empty.
type Set struct {
	// Gone reports whether the resource or the namespace of a stream does not exist any
	// more, so that its objects do not either. If it is nil, all exist. It is set before the
	// first stream starts.
	Gone func(d dimensions.Dimension) bool

	// Left reports whether the namespace of a stream exists, but is not served any more, so
	// that the work on its objects ends. Nil: none was left.
	Left func(d dimensions.Dimension) bool

	ending sync.Mutex // held while no stream may end; taken before mu

	mu    sync.Mutex // guards the fields below
	items map[*Stream]bool
	left  map[dimensions.Key]watching.Objects // objects that were known when their stream ended
}

// follow passes the known objects of ended streams to their successor, which may have another version of the resource. The resource
// or the namespace may have been absent for long, and the deletions of its objects were missed.
func (s *Set) follow(key dimensions.Key, stream *watching.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all watching.Objects
	for ended, known := range s.left {
		if !ended.Overlaps(key) {
			continue
		}
		if all == nil {
			all = known
		} else {
			maps.Copy(all, known)
		}
		delete(s.left, ended)
	}
	if all != nil {
		stream.Inherit(all)
	}
}

// leave keeps the known objects of a stream for a possible successor. A stream of another version that runs sees their ends itself.
func (s *Set) leave(key dimensions.Key, stream *watching.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(stream.Known()) == 0 {
		return
	}
	for other := range s.items {
		if other.Dimension.Key().Overlaps(key) {
			return
		}
	}
	if s.left == nil {
		s.left = map[dimensions.Key]watching.Objects{}
	}
	s.left[key] = stream.Known()
}

// isGone is Gone.
func (s *Set) isGone(d dimensions.Dimension) bool { return s.Gone != nil && s.Gone(d) }

// Each calls a function for all streams, which may wait. No stream ends during the call.
func (s *Set) Each(do func(*Stream)) {
	s.ending.Lock()
	defer s.ending.Unlock()
	for _, item := range s.Now() {
		do(item)
	}
}

// Now returns the present streams, which may end at any time. It does not wait for Each.
func (s *Set) Now() []*Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.items))
}

func (s *Set) add(item *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.items == nil {
		s.items = map[*Stream]bool{}
	}
	s.items[item] = true
}

func (s *Set) remove(item *Stream) {
	s.ending.Lock()
	defer s.ending.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.items, item)
}
