package host

import (
	"runtime"
	"time"
)

// cores bounds the guests that compute at the same time, of all modules, to the
// cores there are. More of them would not be faster: they would only need more
// instances at once, made and thrown away in each burst. Who computes for long
// lets the others go first after each slice; who sleeps gives up its core.
//
// It is of the process, as the cores are.
var cores = make(chan struct{}, runtime.GOMAXPROCS(0))

// takeCore waits for a core.
func takeCore() { cores <- struct{}{} }

func leaveCore() { <-cores }

// away is for a call that waits: others compute meanwhile.
func (c *call) away(do func()) time.Duration {
	if c.owner != nil {
		waits(c.owner.env)
	}
	return withoutCore(do)
}

// withoutCore lets others compute while this call does something else, or
// nothing. It returns how long that took, with the waiting for a core.
func withoutCore(do func()) time.Duration {
	began := time.Now()
	leaveCore()
	do()
	takeCore()
	return time.Since(began)
}
