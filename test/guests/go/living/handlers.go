package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// deed is what a handler does: what its object says, or the configuration.
func deed(spec kopf.View) string {
	if do := spec.Get("do"); do.Exists() {
		return do.String()
	}
	return kopf.Config("do")
}

func daemonFn(d *kopf.Daemon) (any, error) {
	say(kopf.Map{"handler": d.ID, "name": d.Name, "retry": d.Retry})
	period := 200 * time.Millisecond
	if v := d.Spec.Get("period"); v.Exists() {
		period = seconds(v)
	}
	switch deed(d.Spec) {
	case "return":
		return "over", nil
	case "panic":
		panic("the daemon wants a panic")
	case "panic later":
		d.Wait(period)
		panic("the daemon wants a panic")
	case "spin":
		spin()
	case "spin later":
		d.Wait(period)
		spin()
	case "ignore": // the flag, but not the cancellation
		for {
			if err := d.Sleep(period); err != nil {
				say(kopf.Map{"cancelled": d.Name, "reasons": d.StopReasons()})
				return nil, err
			}
		}
	case "immortal":
		for {
			_ = d.Sleep(period)
		}
	case "count":
		return nil, count(&d.Call, 50)
	}
	for !d.Wait(period) {
		say(kopf.Map{"tick": d.Name, "field": d.Spec.Get("field").String()})
	}
	say(kopf.Map{"stopped": d.Name, "reasons": d.StopReasons()})
	return nil, nil
}

// spin computes and never ends.
func spin() {
	for n := 1; n != 0; n += 2 { // which is never
	}
}

func timerFn(t *kopf.Timer) (any, error) {
	say(kopf.Map{"handler": t.ID, "name": t.Name, "retry": t.Retry})
	switch deed(t.Spec) {
	case "panic":
		panic("the timer wants a panic")
	case "spin":
		spin()
	case "sleep":
		return nil, t.Sleep(time.Hour)
	case "count":
		return nil, count(&t.Call, 5)
	case "sum":
		say(kopf.Map{"sum": t.Memo.Get("count").Int()})
	}
	return nil, nil
}

// count counts in the memo, together with other handlers.
func count(c *kopf.Call, times int) error {
	for range times {
		err := c.Memo.Update("count", func(old kopf.View) (any, error) {
			next := old.Int() + 1
			return next, c.Sleep(time.Millisecond) // the others go on meanwhile
		})
		if err != nil {
			return err
		}
		say(kopf.Map{"counted": c.ID})
	}
	return nil
}

func indexFn(o *kopf.Indexed) (any, error) {
	switch deed(o.Spec) {
	case "fail":
		return nil, errors.New("it cannot be indexed")
	case "permanent":
		return nil, kopf.Permanent("it can never be indexed")
	case "index sleeps":
		say(kopf.Map{"handler": o.ID, "name": o.Name})
		return nil, o.Sleep(time.Hour)
	case "index spins":
		say(kopf.Map{"handler": o.ID, "name": o.Name})
		spin()
	case "large":
		return strings.Repeat("x", 10<<20), nil
	case "keys":
		first := o.Spec.Get("first").Int()
		pairs := make(kopf.Pairs, o.Spec.Get("number").Int())
		for i := range pairs {
			pairs[i] = kopf.Pair{Key: first + i, Value: 1}
		}
		return pairs, nil
	}
	return kopf.Pairs{{Key: o.Spec.Get("key").String(), Value: o.Name}}, nil
}

// createFn tells what is in the index, or writes the memo and does not end.
func createFn(c *kopf.Change) (any, error) {
	switch deed(c.Spec) {
	case "memo spins":
		say(kopf.Map{"handler": c.ID, "name": c.Name})
		for i := 0; ; i++ {
			if err := c.Memo.Set("x", i); err != nil {
				return nil, err
			}
		}
	case "memo garbage":
		return nil, c.Memo.Set("x", kopf.Raw("{oops"))
	case "memo sleeps":
		return nil, c.Memo.Update("x", func(kopf.View) (any, error) {
			say(kopf.Map{"handler": c.ID, "name": c.Name})
			return 1, c.Sleep(time.Hour)
		})
	case "count":
		return nil, count(&c.Call, 50)
	}
	index := c.Index("indexFn")
	names := []string{}
	for _, value := range index.Get(c.Spec.Get("key").String()) {
		names = append(names, value.String())
	}
	if number := c.Spec.Get("number"); number.Exists() {
		names = append(names, fmt.Sprintf("%d values of %d", len(index.Get(number.Int())), number.Int()))
	}
	say(kopf.Map{"handler": c.ID, "name": c.Name, "keys": index.Len(), "values": len(names), "names": names[:min(len(names), 10)]})
	return nil, nil
}

func startupFn(a *kopf.Activity) (any, error) { return activity(a) }
func cleanupFn(a *kopf.Activity) (any, error) { return activity(a) }
func probeFn(a *kopf.Activity) (any, error)   { return activity(a) }

func activity(a *kopf.Activity) (any, error) {
	say(kopf.Map{"handler": a.ID, "activity": a.Activity, "retry": a.Retry})
	switch kopf.Config("do") {
	case a.Activity + " fails":
		return nil, errors.New("it does not work")
	case a.Activity + " sleeps":
		return nil, a.Sleep(time.Hour)
	case a.Activity + " spins":
		spin()
	}
	return kopf.Map{"retry": a.Retry}, nil
}

// loginFn returns the credentials of the configuration: those of each attempt, one
// after another.
func loginFn(a *kopf.Activity) (any, error) {
	var count int
	err := a.Memo.Update("logins", func(old kopf.View) (any, error) { count = old.Int(); return count + 1, nil })
	if err != nil {
		return nil, err
	}
	say(kopf.Map{"handler": a.ID, "activity": a.Activity, "retry": a.Retry, "logins": a.Logins})
	switch kopf.Config("do") {
	case "login sleeps":
		return nil, a.Sleep(time.Hour)
	case "login spins":
		spin()
	}
	results := kopf.JSON([]byte(kopf.Config("logins")))
	if !results.Get(count).Exists() {
		return nil, nil
	}
	return results.Get(count).Any(), nil
}

// backgroundFn ticks until it is to end.
func backgroundFn(b *kopf.Background) (any, error) {
	say(kopf.Map{"handler": b.ID, "retry": b.Retry})
	switch kopf.Config("do") {
	case "background fails":
		if b.Retry < 2 {
			return nil, errors.New("it does not work yet")
		}
	case "background ends":
		return "over", nil
	case "background panics":
		panic("the background wants a panic")
	case "background ignores":
		for {
			_ = b.Sleep(50 * time.Millisecond)
		}
	}
	for !b.Wait(100 * time.Millisecond) {
		say(kopf.Map{"tick": b.ID})
	}
	say(kopf.Map{"stopped": b.ID, "reasons": b.StopReasons()})
	return nil, nil
}
