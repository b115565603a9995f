package reactor

import (
	"fmt"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Daemons and timers wait most of their lives, and there may be very many of them.
// So those that wait hold as little as possible: no body of their object, which is
// kept once for all of them, as bytes; and a small stack.

// doze lets go of the object.
func (c *cause) doze() {
	if c.memory != nil && c.memory.background.live.Load() != nil {
		c.raw, c.body = nil, nil
	}
}

// wake takes the newest body of the object that is known.
func (c *cause) wake() error {
	if c.memory == nil {
		return nil
	}
	live := c.memory.background.live.Load()
	if live == nil {
		return nil
	}
	body, err := dicts.DecodeObject(*live)
	if err != nil {
		return fmt.Errorf("the body of the object: %w", err)
	}
	c.raw, c.body = *live, body
	return nil
}

// awake makes sure that there is a body.
func (c *cause) awake() error {
	if c.stopper == nil || c.body != nil {
		return nil
	}
	return aside(c.wake)
}

// aside calls a function on a goroutine of its own, and waits for it. A stack that
// has grown for deep calls, such as those into a guest, is so given back at once.
func aside[T any](fn func() T) T {
	var result T
	done := make(chan struct{})
	go func() { // Waited for below.
		defer close(done)
		result = fn()
	}()
	<-done
	return result
}

// calling calls a guest: aside, if the handler may wait for long.
func (c *cause) calling(guest func() error) error {
	if c.stopper == nil {
		return guest()
	}
	return aside(guest)
}
