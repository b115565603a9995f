package main

import (
	"errors"
	"os"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// do does what `spec.do` says, in the first `spec.times` attempts, or in all.
func do(c *kopf.Change) (any, error) {
	seconds := time.Duration(c.Spec.Get("seconds").Float() * float64(time.Second))
	switch c.Spec.Get("do").String() {
	case "temporary":
		return nil, kopf.Temporary("not yet", kopf.Delay(seconds))
	case "permanent":
		return nil, kopf.Permanent("never")
	case "arbitrary":
		return nil, errors.New("something is wrong")
	case "panic":
		panic("the script wants a panic")
	case "sleep":
		return sleep(c, seconds)
	case "result":
		return result(c), nil
	case "events":
		return events(c)
	case "log":
		c.Log.Info("an ordinary message")
	case "change itself": // up to a count, if there is one
		count, end := c.Spec.Get("count").Int(), c.Spec.Get("end")
		if !end.Exists() || count < end.Int() {
			c.Patch.Spec.Set("count", count+1)
		}
	case "mistype": // what a strict schema refuses
		c.Patch.Spec.Set("number", "not a number")
	case "large result":
		return strings.Repeat("x", 2<<20), nil
	}
	return harm(c)
}

// sleep waits, and tells whether it was allowed to.
func sleep(c *kopf.Change, d time.Duration) (any, error) {
	if err := c.Sleep(d); err != nil {
		printLine(kopf.Map{"cancelled": c.Name})
		return nil, err
	}
	printLine(kopf.Map{"slept": c.Name, "called": time.Now().Format(time.RFC3339Nano)})
	return nil, nil
}

func result(c *kopf.Change) kopf.Map {
	c.Log.Info("a script gives a result")
	c.Patch.Status.Set("seen", true)
	c.Patch.Labels.Set("seen", "yes")
	return kopf.Map{"message": "hello", "size": 3}
}

func events(c *kopf.Change) (any, error) {
	return nil, errors.Join(
		c.Events.Info("Informed", "all is well"),
		c.Events.Warn("Warned", strings.Repeat("w", 2000)),
		c.Events.Exception(errors.New("an error"), "", "it failed:"),
		c.Events.Post("Special", "Posted", "of another type"),
	)
}

// eaten keeps what harm has eaten.
var eaten [][]byte

// harm does what a host must survive.
func harm(c *kopf.Change) (any, error) {
	switch c.Spec.Get("do").String() {
	case "spin":
		for n := 1; n != 0; n += 2 { // which is never
		}
	case "exit":
		os.Exit(3)
	case "eat":
		for {
			eaten = append(eaten, make([]byte, 64<<20))
		}
	case "recurse":
		return recurse(0), nil
	case "shout":
		for range 100 {
			c.Log.Info(strings.Repeat("shout ", 10_000))
		}
	}
	return nil, nil
}

// recurse never comes to its end.
func recurse(depth int) int {
	if depth < 0 {
		return 0
	}
	return recurse(depth+1) + 1
}
