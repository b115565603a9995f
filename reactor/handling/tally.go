package handling

import "sync/atomic"

// Tally counts what the handlers of an operator have done, of all kinds and generations. A
// nil Tally counts nothing. It is safe for concurrent use.
type Tally struct {
	attempts, failures atomic.Uint64
	delayed            atomic.Int64
}

// Counts are the numbers of a Tally.
type Counts struct {
	Attempts uint64 // calls of handlers that have ended, with or without an error
	Failures uint64 // those that ended with an error, including temporary ones
	Delayed  int    // objects that wait now until a handler is due again
}

// Counts returns the present numbers.
func (t *Tally) Counts() Counts {
	if t == nil {
		return Counts{}
	}
	return Counts{Attempts: t.attempts.Load(), Failures: t.failures.Load(), Delayed: int(t.delayed.Load())}
}

// Delay counts an object that begins to wait for a handler; the returned function ends the
// wait.
func (t *Tally) Delay() (over func()) {
	if t == nil {
		return func() {}
	}
	t.delayed.Add(1)
	return func() { t.delayed.Add(-1) }
}

// ended counts an attempt.
func (t *Tally) ended(failed bool) {
	if t == nil {
		return
	}
	t.attempts.Add(1)
	if failed {
		t.failures.Add(1)
	}
}
