package reactor

import "errors"

// Errors of short questions; see Env.
var (
	ErrConflict = errors.New("the value has changed meanwhile")
	ErrAbsent   = errors.New("there is no such value")
)
