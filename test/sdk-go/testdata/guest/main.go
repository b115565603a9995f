// Command guest has a handler for each thing that the SDK does over the border.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.Operator("guest", "1.2.3")
	kopf.OnCreate("things", createFn, kopf.Retries(3), kopf.Timeout(time.Minute), kopf.Param(kopf.Map{"x": 1}))
	kopf.OnUpdate(kopf.Resource("kopf.dev", "v1", "things"), compare, kopf.Field("spec.size"), kopf.OldValue(kopf.Absent))
	kopf.OnCreate(kopf.Everything, fails)
	kopf.OnCreate("things", sleeps)
	kopf.OnCreate("things", parent)
	kopf.OnCreate("things", edits)
	kopf.OnCreate("things", remembers)
	kopf.OnDelete("things", filtered, kopf.Optional(), kopf.When(hasSize), kopf.Label("app", isWeb))
	kopf.OnDaemon("things", polls, kopf.InitialDelayFunc(delay))
	kopf.OnEvent(kopf.Selector{Func: isDev}, watch)
	kopf.OnStartup(configure)
	kopf.Setup(func() error {
		switch kopf.Config("MODE") {
		case "refuse":
			return errors.New("MODE must not be refuse")
		case "more":
			kopf.OnResume("things", createFn)
		}
		return nil
	})
}

func main() {}

func createFn(c *kopf.Change) (any, error) {
	c.Log.Info("created", "name", c.Name, "size", c.Spec.Get("size"))
	c.Patch.Status.Set("param", c.Param)
	return kopf.Map{"size": c.Spec.Get("size").Int() + 1}, nil
}

func compare(c *kopf.Change) (any, error) {
	return kopf.Map{"old": c.Old, "new": c.New, "diff": c.Diff()[0].Path}, nil
}

func fails(c *kopf.Change) (any, error) {
	c.Patch.Status.Set("tried", c.Retry)
	switch mode := c.Spec.Get("mode").String(); mode {
	case "panic":
		var list []int
		_ = list[c.Retry]
	case "temporary":
		return nil, kopf.Temporary("later", kopf.Delay(1500*time.Millisecond))
	case "permanent":
		return nil, kopf.Permanent("never")
	case "arbitrary":
		return nil, errors.New("boo")
	case "draw":
		var drawn [8]byte
		_, err := rand.Read(drawn[:])
		return kopf.Map{"rand": c.Rand().Uint64(), "crypto": drawn[:]}, err
	}
	return nil, nil
}

func sleeps(c *kopf.Change) (any, error) {
	if err := kopf.Sleep(c.Context(), 2*time.Second); err != nil {
		return nil, err
	}
	err := c.Sleep(time.Hour)
	if errors.Is(err, context.Canceled) && c.Context().Err() != nil {
		return "cancelled", nil
	}
	return "slept", err
}

func parent(c *kopf.Change) (any, error) {
	if err := c.Execute(kopf.Sub("first", createFn), kopf.Sub("", compare)); err != nil {
		return nil, err
	}
	for name := range c.Spec.Get("children").Members() {
		c.Sub(name, func(c *kopf.Change) (any, error) { return name, nil }, kopf.Retries(1))
	}
	return "parent", nil
}

func edits(c *kopf.Change) (any, error) {
	c.Patch.Edit(func(body kopf.Map) error {
		kopf.Nested(body, "metadata", "labels")["edited"] = "yes"
		return nil
	})
	c.Patch.Edit(func(body kopf.Map) error {
		if body["broken"] != nil {
			return errors.New("cannot edit this")
		}
		return nil
	})
	return nil, nil
}

func remembers(c *kopf.Change) (any, error) {
	err := c.Memo.Update("count", func(old kopf.View) (any, error) { return old.Int() + 1, nil })
	if err != nil {
		return nil, err
	}
	if err := c.Events.Warn("Remembered", "a warning"); err != nil {
		return nil, err
	}
	indexed := c.Index("by_name").Get(kopf.Map{"k": 1})
	return kopf.Map{
		"count": c.Memo.Get("count"), "indexed": indexed, "secret": kopf.Config("SECRET"),
		"random": c.Rand().IntN(1000) < 1000,
	}, nil
}

func filtered(*kopf.Change) (any, error) { return nil, nil }

func hasSize(c *kopf.Cause) bool {
	if c.Spec.Get("size").String() == "broken" {
		panic("this size is broken")
	}
	return c.Spec.Has("size")
}

func isWeb(c *kopf.Cause) bool { return c.Value.String() == "web" }

func isDev(r kopf.ResourceInfo) bool { return r.Group == "kopf.dev" }

func delay(c *kopf.Cause) time.Duration {
	return time.Duration(c.Spec.Get("delay").Float() * float64(time.Second))
}

func polls(d *kopf.Daemon) (any, error) {
	sizes := []int{d.Spec.Get("size").Int()}
	for !d.Stopped() {
		d.Wait(10 * time.Second)
		sizes = append(sizes, d.Spec.Get("size").Int())
	}
	return kopf.Map{"sizes": sizes, "reasons": d.StopReasons()}, nil
}

func watch(e *kopf.Event) (any, error) { return nil, nil }

func configure(a *kopf.Activity) (any, error) {
	a.Settings.Set("persistence.finalizer", "example.com/finalizer")
	a.Settings.Set("execution.default_backoff", 1500*time.Millisecond)
	if kopf.Config("MODE") == "fail" {
		return nil, kopf.Permanent("never")
	}
	return nil, nil
}
