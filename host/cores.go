package host

import (
	"runtime"
	"time"
)

// cores bounds the guests of all modules that compute at once to the number of processors.
// More of them would not be faster, and would need more instances in each burst. A guest
// that computes for long yields to others after each slice. A guest that sleeps gives up its
// core.
//
// The variable is global because processors belong to the process.
var cores = make(chan struct{}, runtime.GOMAXPROCS(0))

// takeCore waits for a core.
func takeCore() { cores <- struct{}{} }

func leaveCore() { <-cores }

// away runs a function that waits, without the core of the call.
func (c *call) away(do func()) time.Duration {
	if c.owner != nil {
		waits(c.owner.functions.Env)
	}
	return withoutCore(do)
}

// withoutCore gives up the core while it runs a function; nil does nothing. It returns the
// elapsed time, including the wait for a core.
func withoutCore(do func()) time.Duration {
	began := time.Now()
	leaveCore()
	do()
	takeCore()
	return time.Since(began)
}
