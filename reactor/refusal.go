package reactor

import "sync"

// refusal is the error with which an operator must end, if there is one.
type refusal struct {
	mu  sync.Mutex // guards the fields below
	err error
	end func(error) // nil: the operator does not serve now
}

// refuse ends the operator with an error, at once or as soon as it serves. Later errors have
// no effect.
func (r *refusal) refuse(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return
	}
	r.err = err
	if r.end != nil {
		r.end(err)
	}
}

// ends makes refuse call a function, until the returned function is called.
func (r *refusal) ends(end func(error)) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end = end
	if r.err != nil {
		end(r.err)
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.end = nil
	}
}
