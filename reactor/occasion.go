package reactor

import "sync"

// occasion begins a part of the operator when something has happened for the first time, while the
// operator serves. So an idle operator has no goroutine that waits for what rarely happens.
type occasion struct {
	mu       sync.Mutex // guards the fields below
	happened bool
	begin    func() // nil: the operator does not serve, or the part has begun
}

// happen begins the part, at once or as soon as the operator serves.
func (o *occasion) happen() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.happened = true
	if begin := o.begin; begin != nil {
		o.begin = nil
		begin()
	}
}

// begins says how the part begins, until end is called. begin must not block.
func (o *occasion) begins(begin func()) (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.happened {
		begin()
	} else {
		o.begin = begin
	}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.begin = nil
	}
}
