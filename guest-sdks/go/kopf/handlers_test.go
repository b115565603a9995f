package kopf_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopftest"
)

var body = kopf.Map{
	"metadata": kopf.Map{"name": "obj1", "namespace": "ns1", "uid": "u1", "labels": kopf.Map{"app": "web"}, "finalizers": []any{"x"}},
	"spec":     kopf.Map{"size": 5},
	"status":   kopf.Map{"seen": true},
}

func TestWhatAChangeKnows(t *testing.T) {
	started := time.Date(2020, 1, 2, 3, 4, 5, 6000, time.UTC)
	c := kopftest.New(t).Change(kopftest.Fixture{
		ID: "fn", Body: body, Param: 7, Retry: 2, Started: started, Runtime: 1500 * time.Millisecond,
		Old: kopf.Map{"spec": kopf.Map{"size": 4}}, Resource: kopf.ResourceInfo{Plural: "things"},
	})
	got := []any{
		c.ID, c.Name, c.Namespace, c.UID, c.Reason, c.Retry, c.Started(), c.Runtime, c.Param.Int(), c.Resource.Plural,
		c.Spec.Get("size").Int(), c.Status.Get("seen").Bool(), c.Labels.Map(), c.Annotations.Map(), c.Meta.Get("finalizers", 0).String(),
		c.Body.Get("spec", "size").Int(), c.Old.Get("spec", "size").Int(), c.New.Map(),
	}
	want := []any{
		"fn", "obj1", "ns1", "u1", "update", 2, started, 1500 * time.Millisecond, 7, "things",
		5, true,
		kopf.Map{"app": "web"},
		kopf.Map{},
		"x", 5, 4,
		kopf.Map{"metadata": kopf.Map{"labels": kopf.Map{"app": "web"}}, "spec": kopf.Map{"size": int64(5)}},
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("%d: got %#v, want %#v", i, got[i], want[i])
		}
	}
}

func TestDiff(t *testing.T) {
	c := kopftest.New(t).Change(kopftest.Fixture{
		Old: kopf.Map{"spec": kopf.Map{"a": 1, "b": []int{1}, "c": 1}}, New: kopf.Map{"spec": kopf.Map{"b": []int{2}, "c": 1, "d": nil, "e": 5}},
	})
	var got []string
	for _, d := range c.Diff() {
		got = append(got, fmt.Sprintf("%s %v %s %s", d.Op, d.Path, d.Old, d.New))
	}
	if want := []string{"remove [spec a] 1 ", "change [spec b] [1] [2]", "add [spec e]  5"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A handler of a field gets that part of the old state, of the new state, and of the difference.
func TestFieldOfAFixture(t *testing.T) {
	old := kopf.Map{"spec": kopf.Map{"size": 4, "name": "a"}}
	for _, tt := range []struct {
		field []string
		want  string
	}{
		{[]string{"spec", "size"}, "4 to 5: change [] 4 5; "},
		{[]string{"spec"}, "map[name:a size:4] to map[size:5]: remove [name] a <nil>; change [size] 4 5; "},
		{[]string{"spec", "other"}, "<nil> to <nil>: "},
		{[]string{"spec", "size", "deeper"}, "<nil> to <nil>: "},
	} {
		c := kopftest.New(t).Change(kopftest.Fixture{Body: body, Old: old, Field: tt.field})
		got := fmt.Sprintf("%v to %v: ", c.Old.Any(), c.New.Any())
		for _, d := range c.Diff() {
			got += fmt.Sprintf("%s %v %v %v; ", d.Op, d.Path, d.Old.Any(), d.New.Any())
		}
		if got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.field, got, tt.want)
		}
	}
}

func TestObjectWithoutAnything(t *testing.T) {
	c := kopftest.New(t).Change(kopftest.Fixture{Body: kopf.Map{}})
	if c.Name != "" || c.Namespace != "" || c.UID != "" || c.Spec.Exists() || c.Labels.Len() != 0 || len(c.Spec.Map()) != 0 {
		t.Error("there is something")
	}
	if !c.Started().IsZero() || c.Diff()[0].New.Len() != 0 {
		t.Errorf("started %v, diff %v", c.Started(), c.Diff())
	}
	if path, err := kopf.Encode(c.Diff()[0].Path); err != nil || string(path) != "[]" {
		t.Errorf("the path of the whole is %s, %v", path, err)
	}
}

func TestPatch(t *testing.T) {
	tests := []struct {
		name string
		do   func(p *kopf.Patch)
		want string
	}{
		{"nothing", func(p *kopf.Patch) { p.Spec.Merge(nil); p.In("a") }, ``},
		{"views", func(p *kopf.Patch) {
			p.Spec.Set("a", 1)
			p.Status.Set("b", []string{"x"})
			p.Meta.Set("c", true)
			p.Labels.Set("d", "y")
			p.Annotations.Set("e", "z")
			p.Set("f", nil)
		}, `{"f":null,"metadata":{"annotations":{"e":"z"},"c":true,"labels":{"d":"y"}},"spec":{"a":1},"status":{"b":["x"]}}`},
		{"deletion", func(p *kopf.Patch) { p.Labels.Delete("d") }, `{"metadata":{"labels":{"d":null}}}`},
		{
			"paths", func(p *kopf.Patch) { p.Spec.In("x", "y").Set("z", 1); p.In("spec", "x").Set("w", 2) },
			`{"spec":{"x":{"w":2,"y":{"z":1}}}}`,
		},
		{"merging", func(p *kopf.Patch) {
			p.Merge(kopf.Map{"spec": kopf.Map{"a": kopf.Map{"b": 1}, "l": []int{1}}})
			p.Merge(kopf.Map{"spec": kopf.Map{"a": kopf.Map{"c": 2}, "l": []int{2}, "n": nil}})
		}, `{"spec":{"a":{"b":1,"c":2},"l":[2],"n":null}}`},
		{"struct", func(p *kopf.Patch) {
			p.Status.Merge(struct {
				Phase string `json:"phase"`
				Size  int    `json:"size,omitempty"`
			}{Phase: "ready"})
			p.Status.In("nested").Set("x", struct{ A int }{1})
			p.Status.In("nested", "x").Set("b", 2)
		}, `{"status":{"nested":{"x":{"A":1,"b":2}},"phase":"ready"}}`},
		{"inside of a map", func(p *kopf.Patch) {
			p.Status.Set("x", kopf.Map{"b": 1, "y": kopf.Map{"c": 2}})
			p.Status.In("x", "y").Set("a", 3)
			p.Status.In("x").Delete("b")
		}, `{"status":{"x":{"b":null,"y":{"a":3,"c":2}}}}`},
		{"instead of a value", func(p *kopf.Patch) {
			p.Status.Set("x", 1)
			p.Status.In("x").Set("a", 2)
			p.Status.In("y").Set("a", 2)
			p.Status.Set("y", 1)
		}, `{"status":{"x":{"a":2},"y":1}}`},
		{"an empty map", func(p *kopf.Patch) { p.Merge(kopf.Map{"spec": kopf.Map{}, "status": kopf.Map(nil)}) }, `{"spec":{},"status":null}`},
		{"view", func(p *kopf.Patch) { p.Status.Set("copy", kopf.ViewOf(body).Get("spec")) }, `{"status":{"copy":{"size":5}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			host := kopftest.New(t)
			out := host.Run(host.Change(kopftest.Fixture{Body: body}), func(c *kopf.Change) (any, error) {
				tt.do(c.Patch)
				return nil, nil
			})
			if string(out.Patch.Raw()) != tt.want || out.Error != nil {
				t.Errorf("got  %s (%v)\nwant %s", out.Patch.Raw(), out.Error, tt.want)
			}
		})
	}
}

// TestMergeOfWhatIsNoMap: it was left out, and the handler succeeded.
func TestMergeOfWhatIsNoMap(t *testing.T) {
	for name, values := range map[string]any{"a list": []int{1}, "no form in JSON": struct{ Ratio float64 }{math.NaN()}} {
		host := kopftest.New(t)
		out := host.Run(host.Change(kopftest.Fixture{Body: body}), func(c *kopf.Change) (any, error) {
			c.Patch.Status.Merge(values)
			return nil, nil
		})
		if out.Error == nil || out.Error.Kind != abi.ErrorPermanent || !strings.HasPrefix(out.Error.Message, "the patch: ") {
			t.Errorf("%s: error %+v", name, out.Error)
		}
	}
}

// TestPatchOfManyKeys: they are in order, whatever order they were set in.
func TestPatchOfManyKeys(t *testing.T) {
	c := kopftest.New(t).Change(kopftest.Fixture{Body: body})
	want := kopf.Map{}
	for i := range 1000 {
		key := strconv.Itoa(i * 7919 % 1000)
		c.Patch.Labels.Set(key, i)
		want[key] = i
	}
	c.Patch.Status.Set("x", kopf.Map{"y": 1})
	if got := c.Patch.Labels.Map(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := c.Patch.Status.In("x").Map(), (kopf.Map{"y": 1}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := c.Patch.Status.In("x", "y", "z").Map(); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestMergedMapsAreCopied(t *testing.T) {
	shared := kopf.Map{"a": kopf.Map{"b": 1}}
	c := kopftest.New(t).Change(kopftest.Fixture{Body: body})
	c.Patch.Spec.Merge(shared)
	c.Patch.Spec.Merge(kopf.Map{"a": kopf.Map{"c": 2}})
	if want := (kopf.Map{"a": kopf.Map{"b": 1}}); !reflect.DeepEqual(shared, want) {
		t.Errorf("what was merged is now %v", shared)
	}
}

func TestEdit(t *testing.T) {
	host := kopftest.New(t)
	out := host.Run(host.Change(kopftest.Fixture{Body: body}), func(c *kopf.Change) (any, error) {
		c.Patch.Edit(func(body kopf.Map) error {
			meta := kopf.Nested(body, "metadata")
			list, _ := meta["finalizers"].([]any)
			meta["finalizers"] = append(list, "y")
			return nil
		})
		return nil, nil
	})
	edited, err := out.Edited(kopf.Map{"metadata": kopf.Map{"finalizers": []string{"z"}}})
	if want := (kopf.Map{"metadata": kopf.Map{"finalizers": []any{"z", "y"}}}); err != nil || !reflect.DeepEqual(edited, want) {
		t.Errorf("got %v (%v), want %v", edited, err, want)
	}
}

func TestOutcomes(t *testing.T) {
	tests := []struct {
		name   string
		fn     kopf.ChangeFunc
		result string
		failed string // kind and message
	}{
		{"nothing", func(*kopf.Change) (any, error) { return nil, nil }, ``, ``},
		{"typed nil", func(*kopf.Change) (any, error) { return (*int)(nil), nil }, ``, ``},
		{"value", func(*kopf.Change) (any, error) { return []any{1, "x", nil}, nil }, `[1,"x",null]`, ``},
		{"view", func(c *kopf.Change) (any, error) { return c.Spec, nil }, `{"size":5}`, ``},
		{"result of a failure", func(*kopf.Change) (any, error) { return 5, errors.New("boo") }, ``, `arbitrary boo`},
		{
			"no form in JSON", func(*kopf.Change) (any, error) { return func() {}, nil }, ``,
			`permanent the result: a value of type func() has no form in JSON`,
		},
		{
			"bad patch", func(c *kopf.Change) (any, error) { c.Patch.Set("x", func() {}); return 5, nil }, `5`,
			`permanent the patch: a value of type func() has no form in JSON`,
		},
		{"panic", func(*kopf.Change) (any, error) { panic("boo") }, ``, `arbitrary panic: boo`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			host := kopftest.New(t)
			out := host.Run(host.Change(kopftest.Fixture{Body: body}), tt.fn)
			failed := ""
			if out.Error != nil {
				failed = string(out.Error.Kind) + " " + out.Error.Message
			}
			if string(out.Result.Raw()) != tt.result || failed != tt.failed {
				t.Errorf("result %s, error %s", out.Result.Raw(), failed)
			}
		})
	}
}

func TestPatchSurvivesFailures(t *testing.T) {
	for _, fail := range []func() error{func() error { return errors.New("boo") }, func() error { panic("boo") }} {
		host := kopftest.New(t)
		out := host.Run(host.Change(kopftest.Fixture{Body: body}), func(c *kopf.Change) (any, error) {
			c.Patch.Status.Set("tried", true)
			c.Patch.Edit(func(kopf.Map) error { return nil })
			return nil, fail()
		})
		if string(out.Patch.Raw()) != `{"status":{"tried":true}}` || out.Error == nil {
			t.Errorf("patch %s, error %v", out.Patch.Raw(), out.Error)
		}
	}
}

func TestLog(t *testing.T) {
	host := kopftest.New(t)
	c := host.Change(kopftest.Fixture{Body: body})
	c.Log.Debug("plain")
	c.Log.Info("pairs", "text", "x", "spaced", "a b", "empty", "", "number", 1.5, "error", errors.New("boo"), "view", c.Spec.Get("size"))
	c.Log.Warn("values", "list", []int{1, 2}, "map", kopf.Map{"a": nil}, "never", func() {}, "duration", time.Second)
	c.Log.Error("odd", "lost")
	c.Log.Critical("key", 5, "x")
	want := []kopftest.Log{
		{Level: 10, Text: `plain`},
		{Level: 20, Text: `pairs text=x spaced="a b" empty="" number=1.5 error=boo view=5`},
		{Level: 30, Text: `values list=[1,2] map={"a":null} never=? duration=1s`},
		{Level: 40, Text: `odd lost`},
		{Level: 50, Text: `key =x`},
	}
	if !reflect.DeepEqual(host.Logs, want) {
		t.Errorf("got  %q\nwant %q", host.Logs, want)
	}
}

func TestEvents(t *testing.T) {
	host := kopftest.New(t)
	c := host.Change(kopftest.Fixture{Body: body})
	const spaced = " boo\n"
	err := errors.Join(
		c.Events.Info("A", "a"), c.Events.Warn("B", "b"), c.Events.Post("Custom", "C", "c"),
		c.Events.Exception(kopf.Permanent("never"), "", "It failed:"), c.Events.Exception(errors.New("boo"), "D", ""),
		c.Events.Exception(errors.New(""), "D", "It failed:"), c.Events.Exception(errors.New(spaced), "D", ""),
		c.Events.About(kopf.Map{"kind": "Pod"}).Info("E", "e"),
		c.Events.Backoffs(time.Second, 1500*time.Millisecond).Info("F", "f"), c.Events.Backoffs().Info("G", "g"),
	)
	if err != nil {
		t.Error(err)
	}
	want := []kopftest.Event{
		{Type: "Normal", Reason: "A", Message: "a"},
		{Type: "Warning", Reason: "B", Message: "b"},
		{Type: "Custom", Reason: "C", Message: "c"},
		{Type: "Error", Reason: "PermanentError", Message: "It failed: never"},
		{Type: "Error", Reason: "D", Message: "boo"},
		{Type: "Error", Reason: "D", Message: "It failed: "},
		{Type: "Error", Reason: "D", Message: " boo\n"},
		{Type: "Normal", Reason: "E", Message: "e"},
		{Type: "Normal", Reason: "F", Message: "f", Backoffs: []time.Duration{time.Second, 1500 * time.Millisecond}},
		{Type: "Normal", Reason: "G", Message: "g", Backoffs: []time.Duration{}},
	}
	if !reflect.DeepEqual(host.Events, want) {
		t.Errorf("got  %+v\nwant %+v", host.Events, want)
	}
	if err := c.Events.About(func() {}).Info("F", "f"); err == nil {
		t.Error("an event about a function")
	}
}

func TestMemo(t *testing.T) {
	host := kopftest.New(t)
	host.Memo["kept"] = 1
	c := host.Change(kopftest.Fixture{Body: body})
	add := func(old kopf.View) (any, error) { return old.Int() + 1, nil }
	err := errors.Join(c.Memo.Set("a", kopf.Map{"x": 1}), c.Memo.Update("kept", add), c.Memo.Update("kept", add), c.Memo.Update("new", add),
		c.Memo.Set("gone", 1), c.Memo.Delete("gone"), c.Memo.Delete("never"), c.OperatorMemo().Set("all", true))
	if err != nil {
		t.Error(err)
	}
	want := map[string]any{"a": kopf.Map{"x": int64(1)}, "kept": int64(3), "new": int64(1)}
	if !reflect.DeepEqual(host.Memo, want) || !reflect.DeepEqual(host.OperatorMemo, map[string]any{"all": true}) {
		t.Errorf("memos %v and %v", host.Memo, host.OperatorMemo)
	}
	if c.Memo.Get("a").Get("x").Int() != 1 || c.Memo.Get("absent").Exists() {
		t.Error("wrong values")
	}
	boo := errors.New("boo")
	if err := c.Memo.Update("a", func(kopf.View) (any, error) { return nil, boo }); !errors.Is(err, boo) {
		t.Errorf("error %v", err)
	}
}

func TestMemoUpdateRepeatsOnConflict(t *testing.T) {
	host := kopftest.New(t)
	c, calls := host.Change(kopftest.Fixture{Body: body}), 0
	err := c.Memo.Update("n", func(old kopf.View) (any, error) {
		if calls++; calls == 1 { // another writer is faster
			if err := c.Memo.Set("n", 41); err != nil {
				t.Fatal(err)
			}
		}
		return old.Int() + 1, nil
	})
	if err != nil || calls != 2 || !reflect.DeepEqual(host.Memo["n"], int64(42)) {
		t.Errorf("%v after %d calls (%v)", host.Memo["n"], calls, err)
	}
}

func TestIndex(t *testing.T) {
	host := kopftest.New(t)
	host.Indices = map[string]kopf.Pairs{"ix": {{Key: "a", Value: 1}, {Key: "a", Value: 2}, {Key: []int{1}, Value: nil}}}
	c := host.Change(kopftest.Fixture{Body: body})
	x := c.Index("ix")
	if x.Len() != 2 || !x.Has("a") || x.Has("b") || len(x.Get("a")) != 2 || x.Get("a")[1].Int() != 2 || len(x.Get([]int{1})) != 1 {
		t.Errorf("%d keys: %v", x.Len(), x.Keys())
	}
	if keys := x.Keys(); keys[0].String() != "a" || keys[1].Get(0).Int() != 1 {
		t.Errorf("keys %v", keys)
	}
	if none := c.Index("none"); none.Len() != 0 || none.Has("a") || none.Get("a") != nil || none.Keys() != nil {
		t.Error("an absent index is not empty")
	}
}

type replicas struct {
	Replicas int `json:"replicas"`
}

// TestTypedDaemonSeesChanges waits while the object changes, and while it does not fit.
func TestTypedDaemonSeesChanges(t *testing.T) {
	host := kopftest.New(t)
	d := &kopf.DaemonOf[replicas]{Daemon: host.Daemon(kopftest.Fixture{Body: kopf.Map{"spec": kopf.Map{"replicas": 3}}})}
	d.Wait(time.Second)
	if d.Spec.Replicas != 3 {
		t.Errorf("%d replicas after a wait, want 3", d.Spec.Replicas)
	}
	unfit := &kopf.DaemonOf[replicas]{Daemon: host.Daemon(kopftest.Fixture{Body: kopf.Map{"spec": kopf.Map{"replicas": "x"}}}), Spec: replicas{2}}
	if err := unfit.Sleep(time.Second); err != nil || unfit.Spec.Replicas != 2 {
		t.Errorf("%d replicas after a wait, error %v; want 2", unfit.Spec.Replicas, err)
	}
}

// TestNilPointersAreLogged: a line of the log is no reason to fail.
func TestNilPointersAreLogged(t *testing.T) {
	host := kopftest.New(t)
	var none *kopf.APIError
	host.Change(kopftest.Fixture{Body: body}).Log.Info("done", "error", none)
	if len(host.Logs) != 1 || host.Logs[0].Text != "done error=null" {
		t.Errorf("logs = %v", host.Logs)
	}
}
