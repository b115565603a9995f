// Command random is a guest whose handlers depend on everything that is not in their arguments:
// the clock, random numbers, the order of maps, sleeps and the configuration.
package main

import (
	crypto "crypto/rand"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.OnCreate("kopfexamples", createFn, kopf.ID("create_fn"))
	kopf.OnTimer("kopfexamples", timerFn, kopf.ID("timer_fn"), kopf.Interval(time.Second))
	kopf.OnUpdate("kopfexamples", func(*kopf.Change) (any, error) { panic("a broken handler") }, kopf.ID("panic_fn"))
	kopf.OnUpdate("kopfexamples", spinFn, kopf.ID("spin_fn"))
	kopf.OnDelete("kopfexamples", deleteFn, kopf.ID("delete_fn"))
}

var calls int // an instance that is used twice would count

func odd() kopf.Map {
	calls++
	secret := make([]byte, 8)
	_, _ = crypto.Read(secret)
	order := ""
	for key := range map[string]int{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5} {
		order += key
	}
	begin := time.Now()
	time.Sleep(time.Millisecond)
	return kopf.Map{
		"calls": calls, "secret": fmt.Sprintf("%x", secret), "random": rand.Int64(), "order": order,
		"now": begin.UnixNano(), "slept": time.Since(begin).Nanoseconds(), "variant": variant,
	}
}

// variant is set by the linker, for a newer version of the module.
var variant string

func createFn(c *kopf.Change) (any, error) {
	token := kopf.Config("TOKEN")
	c.Log.Info("created", "token", token)
	if err := c.Memo.Set("begun", time.Now().String()); err != nil {
		return nil, err
	}
	if c.Retry < 2 {
		return nil, kopf.Temporary(fmt.Sprint(odd()), kopf.Delay(100*time.Millisecond))
	}
	c.Patch.Status.Set("token", token)
	return odd(), nil
}

func timerFn(*kopf.Timer) (any, error) { return odd(), nil }

func spinFn(*kopf.Change) (any, error) {
	for {
		calls++
	}
}

func deleteFn(c *kopf.Change) (any, error) { return nil, kopf.Sleep(c.Context(), 10*time.Millisecond) }

func main() {}
