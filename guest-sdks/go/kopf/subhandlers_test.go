package kopf_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/hooks"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopftest"
)

func childFn(c *kopf.Change) (any, error) { return c.ID, nil }

func TestSubHandlers(t *testing.T) {
	host := kopftest.New(t)
	out := host.Run(host.Change(kopftest.Fixture{ID: "parent", Body: body}), func(c *kopf.Change) (any, error) {
		if err := c.Execute(kopf.Sub("a", childFn), kopf.Sub("b", childFn, kopf.Param(5))); err != nil {
			return nil, err
		}
		c.Sub("c", func(c *kopf.Change) (any, error) {
			c.Sub("d", func(c *kopf.Change) (any, error) { return nil, kopf.Permanent("never") })
			return nil, nil
		})
		return "done", nil
	})
	if out.Error != nil || out.Result.String() != "done" {
		t.Errorf("result %s, error %v", out.Result, out.Error)
	}
	if got := out.Children["parent/a"].Result.String(); got != "parent/a" {
		t.Errorf("the first child returned %q", got)
	}
	if out.Children["parent/b"].Error != nil || len(out.Children) != 3 {
		t.Errorf("children %v", out.Children)
	}
	if e := out.Children["parent/c"].Children["parent/c/d"].Error; e == nil || e.Kind != abi.ErrorPermanent {
		t.Errorf("the grandchild ended with %v", e)
	}
}

// TestOrdersOfSubHandlers: a handler chooses the order of those that follow it.
func TestOrdersOfSubHandlers(t *testing.T) {
	host := kopftest.New(t)
	for _, order := range []string{"", kopf.AllAtOnce} {
		c := host.Change(kopftest.Fixture{ID: "parent", Body: body})
		_, done := hooks.Finish(c, func() (any, error) {
			if order != "" {
				c.SubLifecycle(order)
			}
			c.Sub("a", childFn)
			return nil, nil
		})
		if done.Lifecycle != order || len(done.Children) != 1 {
			t.Errorf("got the order %q, want %q, of %d", done.Lifecycle, order, len(done.Children))
		}
	}
}

// TestSubHandlersShareThePatch: what closures set in the patch of their parent, whose last step is over, is in theirs.
func TestSubHandlersShareThePatch(t *testing.T) {
	host := kopftest.New(t)
	out := host.Run(host.Change(kopftest.Fixture{ID: "parent", Body: body}), func(c *kopf.Change) (any, error) {
		c.Patch.Status.In("x").Set("a", 1)
		c.Sub("a", func(own *kopf.Change) (any, error) {
			c.Patch.Status.In("x").Set("b", 2)
			own.Patch.Spec.Set("y", 3)
			own.Sub("b", func(*kopf.Change) (any, error) {
				c.Patch.Status.Delete("z")
				c.Patch.Edit(func(body kopf.Map) error { body["edited"] = true; return nil })
				return nil, nil
			})
			return nil, nil
		})
		return nil, nil
	})
	child := out.Children["parent/a"]
	grandchild := child.Children["parent/a/b"]
	got := []string{string(out.Patch.Raw()), string(child.Patch.Raw()), string(grandchild.Patch.Raw())}
	want := []string{`{"status":{"x":{"a":1}}}`, `{"spec":{"y":3},"status":{"x":{"b":2}}}`, `{"status":{"z":null}}`}
	if !slices.Equal(got, want) {
		t.Errorf("patches %q, want %q", got, want)
	}
	if edited, err := grandchild.Edited(kopf.Map{}); err != nil || edited["edited"] != true {
		t.Errorf("edited %v, %v", edited, err)
	}
}

func TestPendingSubHandlers(t *testing.T) {
	later := func(*kopf.Change) (any, error) { return nil, kopf.Temporary("later") }
	tests := []struct {
		name   string
		parent kopf.ChangeFunc
		kind   abi.ErrorKind
	}{
		{"returned", func(c *kopf.Change) (any, error) { return nil, c.Execute(kopf.Sub("a", later)) }, abi.ErrorChildren},
		{"overlooked", func(c *kopf.Change) (any, error) {
			_ = c.Execute(kopf.Sub("a", later))
			return "done", nil
		}, abi.ErrorChildren},
		{"declared", func(c *kopf.Change) (any, error) { c.Sub("a", later); return "done", nil }, abi.ErrorChildren},
		{"executed later", func(c *kopf.Change) (any, error) {
			c.Sub("a", later)
			if err := c.Execute(); !errors.Is(err, kopf.ErrChildrenPending) {
				return nil, kopf.Permanent("no error")
			}
			return nil, kopf.ErrChildrenPending
		}, abi.ErrorChildren},
		{"another error", func(c *kopf.Change) (any, error) {
			_ = c.Execute(kopf.Sub("a", later))
			return nil, kopf.Permanent("never")
		}, abi.ErrorPermanent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			host := kopftest.New(t)
			out := host.Run(host.Change(kopftest.Fixture{Body: body}), tt.parent)
			if out.Error == nil || out.Error.Kind != tt.kind {
				t.Errorf("ended with %+v, want %s", out.Error, tt.kind)
			}
		})
	}
}

func TestSubHandlersThatCannotBe(t *testing.T) {
	for name, parent := range map[string]kopf.ChangeFunc{
		"declared": func(c *kopf.Change) (any, error) {
			c.Sub("", func(*kopf.Change) (any, error) { return nil, nil })
			return nil, nil
		},
		"executed": func(c *kopf.Change) (any, error) { return nil, c.Execute(kopf.Sub("a", nil)) },
	} {
		host := kopftest.New(t)
		out := host.Run(host.Change(kopftest.Fixture{Body: body}), parent)
		if out.Error == nil || out.Error.Kind != abi.ErrorPermanent || len(out.Children) != 0 {
			t.Errorf("%s: ended with %+v", name, out.Error)
		}
	}
}

func TestExecuteOfNothing(t *testing.T) {
	host := kopftest.New(t)
	c := host.Change(kopftest.Fixture{Body: body})
	if err := c.Execute(); err != nil {
		t.Error(err)
	}
}

func TestSleep(t *testing.T) {
	host := kopftest.New(t)
	c := host.Change(kopftest.Fixture{Body: body})
	if err := errors.Join(c.Sleep(time.Hour), kopf.Sleep(c.Context(), time.Minute), kopf.Sleep(context.Background(), time.Microsecond)); err != nil {
		t.Error(err)
	}
	if want := []time.Duration{time.Hour, time.Minute}; !slices.Equal(host.Waits, want) {
		t.Errorf("waited %v, want %v", host.Waits, want)
	}
}

func TestDaemon(t *testing.T) {
	host := kopftest.New(t)
	host.StopAfter = 3
	d, n := host.Daemon(kopftest.Fixture{Body: body}), 0
	for !d.Stopped() {
		d.Wait(time.Second)
		n += d.Spec.Get("size").Int()
	}
	if n != 15 || len(host.Waits) != 3 || !slices.Equal(d.StopReasons(), []string{"daemon_signalled"}) {
		t.Errorf("%d after %v: %v", n, host.Waits, d.StopReasons())
	}
}

func TestOtherArguments(t *testing.T) {
	host := kopftest.New(t)
	e := host.Event(kopftest.Fixture{Body: body, EventType: "ADDED", Raw: kopf.Map{"type": "ADDED", "object": body}})
	if e.Type != "ADDED" || e.Raw.Get("object", "spec", "size").Int() != 5 || e.Name != "obj1" {
		t.Errorf("event %s %s", e.Type, e.Raw)
	}
	a := host.Activity(kopftest.Fixture{Activity: "startup", Settings: kopf.Map{"posting": kopf.Map{"level": 20}, "dotted.name": 1}})
	a.Settings.Set("execution.default_backoff", time.Minute)
	a.Settings.Set("networking.error_backoffs", []time.Duration{time.Second, 1500 * time.Millisecond})
	if got := string(a.Settings.Get("networking.error_backoffs").Raw()); got != "[1,1.5]" {
		t.Errorf("error_backoffs = %s, want seconds", got)
	}
	if a.Settings.Get("posting.level").Int() != 20 || a.Settings.Get("execution.default_backoff").Int() != 60 || a.Settings.Get("dotted.name").Int() != 1 {
		t.Error("wrong settings")
	}
	if err := a.Memo.Set("x", 1); err != nil || host.OperatorMemo["x"] == nil {
		t.Errorf("the memo of an activity is not the operator's (%v)", err)
	}
	r := host.Review(kopftest.Fixture{Body: body, Admission: &kopftest.Admission{Operation: "CREATE", DryRun: true, UserInfo: kopf.Raw(`{"username": "u"}`)}})
	if r.Operation != kopf.Creating || !r.DryRun || r.UserInfo.Get("username").String() != "u" {
		t.Errorf("review %+v", r)
	}
	q := host.Cause(kopftest.Fixture{Body: body, EventType: "DELETED"}, "web")
	if q.Value.String() != "web" || q.Type != "DELETED" || q.Spec.Get("size").Int() != 5 {
		t.Errorf("cause %+v", q)
	}
	if host.Cause(kopftest.Fixture{Body: body}, nil).Value.Exists() {
		t.Error("no value is a value")
	}
}

func TestConfig(t *testing.T) {
	host := kopftest.New(t)
	host.Config = map[string]string{"KEY": "value"}
	host.Install()
	if value, ok := kopf.LookupConfig("KEY"); value != "value" || !ok || kopf.Config("KEY") != "value" {
		t.Errorf("%q %v", value, ok)
	}
	if value, ok := kopf.LookupConfig("OTHER"); value != "" || ok {
		t.Errorf("%q %v", value, ok)
	}
}

func TestRandIsRepeatable(t *testing.T) {
	host := kopftest.New(t)
	c := host.Change(kopftest.Fixture{Body: body})
	if c.Rand().Uint64() != c.Rand().Uint64() {
		t.Error("not seeded by the host alone")
	}
}
