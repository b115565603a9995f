package host

import (
	"runtime"
	"slices"
	"sync"

	"github.com/tetratelabs/wazero/api"
)

// functions are the exports of an instance that were called. For each of them the engine
// keeps a stack of ten kilobytes, or of what a call has ever needed.
type functions struct {
	enter  api.Function            // prepare.Enter
	others map[string]api.Function // that Enter does not reach
}

// stacks are the instances that have functions: those that were called lately. The others
// wait, for the time, for requests or for work, and most of what a small instance
// takes would be the stack for its next call.
type stacks struct {
	limit int

	mu  sync.Mutex
	all []*instance // who got them first at the front
}

// leastStacks is how many instances have functions at least: more than compute at the same time.
const leastStacks = 8

func newStacks() *stacks { return &stacks{limit: max(leastStacks, 2*runtime.GOMAXPROCS(0))} }

// grant lets an instance have functions, and takes those of another one for it: a call of that
// one which runs meanwhile has what it needs.
func (s *stacks) grant(in *instance) *functions {
	fns := &functions{others: map[string]api.Function{}}
	in.functions.Store(fns)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, in)
	if len(s.all) > s.limit {
		s.all[0].functions.Store(nil)
		s.all = slices.Delete(s.all, 0, 1)
	}
	return fns
}

// revoke takes the functions of an instance that ends, or may have a large stack: the engine
// lets stacks grow to some hundred megabytes, and never shrink. Code that has spent less than a
// budget has not got far.
func (s *stacks) revoke(in *instance) {
	in.functions.Store(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(other *instance) bool { return other == in })
}
