package host

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/tetratelabs/wazero/api"

	"github.com/kopf-wasm/kopf/host/guests"
	"github.com/kopf-wasm/kopf/host/linear"
	"github.com/kopf-wasm/kopf/internal/processors"
)

// exports are the exported functions of an instance that were called. For each of them, the
// engine keeps a stack of ten kilobytes, or of the largest size that a call has needed.
type exports struct {
	enter  api.Function            // prepare.Enter
	others map[string]api.Function // that prepare.Enter does not reach
}

// stacks are the recently called instances, which have exports. All other instances wait
// for time, requests or work. For a small instance, the stack would be most of its memory.
type stacks struct {
	limit int

	mu  sync.Mutex
	all []*instance // the oldest grant is at the front
}

// leastStacks is the minimum number of instances that have exports: more than compute at
// once.
const leastStacks = 8

func newStacks() *stacks { return &stacks{limit: max(leastStacks, 2*processors.Number())} }

// grant gives exports to an instance, and takes those of another instance for it. A
// running call of the other instance keeps what it needs.
func (s *stacks) grant(in *instance) *exports {
	fns := &exports{others: map[string]api.Function{}}
	in.exports.Store(fns)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, in)
	if len(s.all) > s.limit {
		s.all[0].exports.Store(nil)
		s.all = slices.Delete(s.all, 0, 1)
	}
	return fns
}

// maxStack is the maximum size of a stack that an instance keeps after a call, in bytes. Go
// guests need 20 to 40 KB.
const maxStack = 64 << 10

// isLarge reports whether the stack of a function is too large to keep, or has an unknown
// size.
func isLarge(fn api.Function) bool {
	size, known := stackOf(fn)
	return !known || size > maxStack
}

// stackOf returns the size of the stack of a function, in bytes. The engine offers no way to ask for the size, so it is read
// from the field of its function. It is false if there is none.
func stackOf(fn api.Function) (size int, known bool) {
	pointer := reflect.ValueOf(fn)
	if pointer.Kind() != reflect.Pointer || pointer.Elem().Kind() != reflect.Struct {
		return 0, false
	}
	stack := pointer.Elem().FieldByName("stack")
	if stack.Kind() != reflect.Slice {
		return 0, false
	}
	return stack.Cap() * int(stack.Type().Elem().Size()), true
}

// stackUse counts the stack of a call that runs. It grows only while the call has a core, to a hundred megabytes, and is counted when
// others get the core: calls that wait for something, or for their next turn, are many.
type stackUse struct {
	of    api.Function // that runs; nil: none
	words int          // bytes of the guest's own words, which the call keeps, too
	pool  *MemoryPool
	held  int // bytes of the pool
}

// count counts what the stack and the words have now, beyond maxStack. It ends the call if the pool has no room.
func (s *stackUse) count() {
	if s.of == nil {
		return
	}
	size, _ := stackOf(s.of)
	more := size + s.words - maxStack - s.held
	if more <= 0 {
		return
	}
	switch err := s.pool.Take(more); {
	case errors.Is(err, linear.ErrPool):
		guests.Stop(fmt.Errorf("%w: a recursion takes a stack of %s, and the limit InstanceMemory, which all instances and their stacks have together, is reached", ErrMemory, mebibytes(size)))
	case err != nil:
		guests.Stop(fmt.Errorf("%w: a recursion takes a stack of %s, and %w", ErrMemory, mebibytes(size), err))
	}
	s.held += more
}

// end gives back what was counted.
func (s *stackUse) end() {
	s.pool.Give(s.held)
	s.of, s.held = nil, 0
}

// revoke takes the exports of an instance that ends, or that has a large stack. The engine
// lets stacks grow to some hundred megabytes, and never shrinks them.
func (s *stacks) revoke(in *instance) {
	in.exports.Store(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(other *instance) bool { return other == in })
}
