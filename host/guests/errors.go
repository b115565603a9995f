package guests

import "errors"

// Causes for the end of a call. See package host for the others.
var (
	ErrMessage = errors.New("broken message")
	ErrExport  = errors.New("missing export")
	ErrMemory  = errors.New("out of memory")
)

// Stopped is the cause of a call that the host ended.
type Stopped struct{ Err error }

// Error returns the text of the cause.
func (s *Stopped) Error() string { return s.Err.Error() }

// Unwrap returns the cause.
func (s *Stopped) Unwrap() error { return s.Err }

// Stop ends the call from inside a host function. It panics, because that is how the engine
// unwinds machine code. The engine recovers the panic and returns it as an error.
func Stop(cause error) { panic(&Stopped{cause}) }

// Panic is the cause of a call that panicked in a guest that continues afterwards.
type Panic struct {
	Message string
	Stack   string
}

// Error returns the message.
func (p *Panic) Error() string { return p.Message }
