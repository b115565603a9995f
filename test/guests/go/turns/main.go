// Command turns is an operator whose handlers take turns with the host in odd ways: see turns.
package main

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() { kopf.OnCreate("kopfexamples", run, kopf.ID("fn")) }

// turns are what the handler does.
var turns = map[string]func(*kopf.Change) (any, error){
	"goroutines": goroutines,
	"end":        func(*kopf.Change) (any, error) { runtime.Goexit(); return nil, nil },
	"panic":      func(c *kopf.Change) (any, error) { panic(c.Sleep(time.Second)) },
	"lock":       lock,
	"deadlock":   func(*kopf.Change) (any, error) { select {} },
	"leave":      leave,
	"meet":       meet,
	"nothing":    func(*kopf.Change) (any, error) { return nil, nil },
}

func run(c *kopf.Change) (any, error) {
	fn := turns[c.Spec.Get("do").String()]
	if fn == nil {
		return nil, errors.New("unknown turn")
	}
	return fn(c)
}

// goroutines of the handler wait for the host, several at once. Meanwhile they leave garbage.
func goroutines(c *kopf.Change) (any, error) {
	var all sync.WaitGroup
	slept := make([]bool, 5)
	for i := range slept {
		all.Add(1)
		go func() { // waited for below
			defer all.Done()
			for range 3 {
				for range 100 {
					_ = append([]byte(nil), make([]byte, 10<<10)...)
				}
				if err := c.Sleep(time.Second); err == nil {
					slept[i] = true
				}
			}
		}()
	}
	all.Wait()
	return slept, nil
}

// left lets the goroutine of leave continue.
var left = make(chan struct{})

// leave leaves a goroutine that waits for the host when the handler has ended, in the time of another object.
func leave(c *kopf.Change) (any, error) {
	go func() {
		<-left
		_, failed := c.Fetch(kopf.Request{URL: "https://example.com/"})
		met = fmt.Errorf("%w; %w", c.Sleep(time.Hour), failed)
	}()
	return "left", nil
}

// met is what the goroutine of leave got.
var met error

// meet lets the goroutine of leave continue, and gives it time.
func meet(*kopf.Change) (any, error) {
	left <- struct{}{}
	for range 100 {
		runtime.Gosched()
	}
	if met == nil {
		return "it waits", nil
	}
	return met.Error(), nil
}

// lock keeps the thread while the handler waits.
func lock(c *kopf.Change) (any, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return "locked", c.Sleep(time.Second)
}

func main() {}
