package main

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// waitOps let time pass.
var waitOps = map[string]operation{
	"sleep": func(c *call, arg any) error {
		d, err := seconds(arg)
		if err != nil {
			return err
		}
		return c.Sleep(d)
	},
	"loop":     opLoop,
	"stubborn": opStubborn,
	"immortal": opImmortal,
}

var errNoDaemon = errors.New("the operation is for daemons")

// threadHop is how long a function in a thread takes to come back to the event loop after
// the stop signal: another cycle of the loop handles the object meanwhile.
const threadHop = 100 * time.Millisecond

// opLoop is a daemon that behaves well.
func opLoop(c *call, arg any) error {
	d, a := c.daemon, argsOf(arg)
	if d == nil {
		return errNoDaemon
	}
	interval := 200 * time.Millisecond
	if a["interval"] != nil {
		var err error
		if interval, err = seconds(a["interval"]); err != nil {
			return err
		}
	}
	for n := 1; !d.Stopped(); n++ {
		if a["mark"] != nil {
			c.mark(a["mark"], object{"spec": d.Spec.Map()})
		}
		if a["times"] != nil && !less(n, a["times"]) {
			break
		}
		if d.Wait(interval) && c.spec.Sync {
			if err := c.Sleep(threadHop); err != nil {
				return err
			}
		}
	}
	mark, reasons := "finished", any(nil)
	if d.Stopped() {
		mark, reasons = "stopped", upper(d.StopReasons())
	}
	c.mark(mark, object{"stop_reason": reasons})
	return nil
}

// upper are names as Python has them.
func upper(names []string) []string {
	for i := range names {
		names[i] = strings.ToUpper(names[i])
	}
	slices.Sort(names)
	return names
}

// opStubborn is a daemon that ignores the stopping, and reports the cancellation.
func opStubborn(c *call, arg any) error {
	d, err := seconds(arg)
	if err != nil {
		return err
	}
	if err := c.Sleep(d); err != nil {
		c.mark("cancelled", nil)
		return err
	}
	c.mark("overslept", nil)
	return nil
}

// opImmortal is a daemon that ignores even the cancellation.
func opImmortal(c *call, arg any) error {
	d, err := seconds(arg)
	if err != nil {
		return err
	}
	cancelled := false
	for end := time.Now().Add(d); time.Now().Before(end); {
		if err := c.Sleep(200 * time.Millisecond); err != nil && !cancelled {
			cancelled = true
			c.mark("cancellation ignored", nil)
		}
	}
	c.mark("overslept", nil)
	return nil
}

// opSubhandlers declares or executes sub-handlers.
func opSubhandlers(c *call, arg any) error {
	if c.change == nil {
		return errors.New("sub-handlers are for handlers of changes")
	}
	via := argsOf(arg).text("via")
	specs, err := into[[]handlerSpec](argsOf(arg)["list"])
	if err != nil {
		return err
	}
	var subs []kopf.SubHandler
	for i := range specs {
		spec := &specs[i]
		id, fn := spec.Name, c.in.change(spec)
		switch via {
		case "execute-list":
			subs = append(subs, kopf.Sub(id, fn))
		case "execute-dict":
			id, _ = spec.options["id"].(string)
			subs = append(subs, kopf.Sub(id, fn))
		default: // decorator, register, execute-registered
			opts, err := c.in.toOptions(spec.options)
			if err != nil {
				return err
			}
			c.change.Sub(id, fn, kopf.Join(opts...))
		}
	}
	if len(subs) > 0 || via == "execute-registered" {
		if err := c.change.Execute(subs...); err != nil {
			return err
		}
	}
	if via == "execute-registered" {
		c.mark("after execute", nil)
	}
	return nil
}
