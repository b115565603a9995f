package reactor

import "sync"

// occasion begins a part of the operator, or ends the operator, when something has happened for the first time,
// while the operator serves. So an idle operator has no goroutine that waits for what rarely happens.
type occasion struct {
	mu       sync.Mutex // guards the fields below
	happened bool
	cause    error           // with which it has happened first; nil: it needs none
	begin    func(err error) // nil: the operator does not serve, or the part has begun
}

// happen begins the part, at once or as soon as the operator serves. Later calls have no effect.
func (o *occasion) happen(cause error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.happened {
		return
	}
	o.happened, o.cause = true, cause
	if o.begin != nil {
		o.begin(cause)
	}
}

// begins says how the part begins, until end is called. begin must not block.
func (o *occasion) begins(begin func(cause error)) (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.begin = begin; o.happened {
		begin(o.cause)
	}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.begin = nil
	}
}
