package main

import (
	"slices"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// call is one invocation of a handler of any kind: what the script needs of it.
type call struct {
	*kopf.Call
	in    *interpreter
	spec  *handlerSpec
	calls int // of this handler for this object before, in this process

	object *kopf.Object // nil in activities
	patch  *kopf.Patch
	events kopf.Events

	change   *kopf.Change
	event    *kopf.Event
	daemon   *kopf.Daemon
	activity *kopf.Activity
	review   *kopf.Review

	returned bool
	result   any
}

// handle prints the line of the invocation, and runs the script.
func (c *call) handle() (any, error) {
	record := c.describe()
	c.count()
	if !c.spec.Silent {
		c.in.emit(record)
	}
	if err := c.run(c.spec.Do); err != nil {
		return nil, err
	}
	return c.result, nil
}

func (in *interpreter) change(spec *handlerSpec) kopf.ChangeFunc {
	return func(k *kopf.Change) (any, error) {
		c := &call{in: in, spec: spec, Call: &k.Call, object: &k.Object, patch: k.Patch, events: k.Events, change: k}
		return c.handle()
	}
}

func (in *interpreter) event(spec *handlerSpec) kopf.EventFunc {
	return func(k *kopf.Event) (any, error) {
		c := &call{in: in, spec: spec, Call: &k.Call, object: &k.Object, patch: k.Patch, events: k.Events, event: k}
		return c.handle()
	}
}

func (in *interpreter) timer(spec *handlerSpec) kopf.TimerFunc {
	return func(k *kopf.Timer) (any, error) {
		c := &call{in: in, spec: spec, Call: &k.Call, object: &k.Object, patch: k.Patch, events: k.Events}
		return c.handle()
	}
}

func (in *interpreter) daemon(spec *handlerSpec) kopf.DaemonFunc {
	return func(k *kopf.Daemon) (any, error) {
		c := &call{in: in, spec: spec, Call: &k.Call, object: &k.Object, patch: k.Patch, events: k.Events, daemon: k}
		return c.handle()
	}
}

func (in *interpreter) review(spec *handlerSpec) kopf.ReviewFunc {
	return func(k *kopf.Review) error {
		c := &call{in: in, spec: spec, Call: &k.Call, object: &k.Object, patch: k.Patch, review: k}
		_, err := c.handle()
		return err
	}
}

func (in *interpreter) activity(spec *handlerSpec) kopf.ActivityFunc {
	return func(k *kopf.Activity) (any, error) {
		c := &call{in: in, spec: spec, Call: &k.Call, activity: k}
		return c.handle()
	}
}

// index makes keys of maps, as the reference does.
func (in *interpreter) index(spec *handlerSpec) kopf.IndexFunc {
	return func(k *kopf.Indexed) (any, error) {
		c := &call{in: in, spec: spec, Call: &k.Call, object: &k.Object}
		result, err := c.handle()
		keyed, ok := result.(object)
		if !ok {
			return result, err
		}
		pairs := kopf.Pairs{}
		for _, key := range sortedKeys(keyed) {
			pairs = append(pairs, kopf.Pair{Key: key, Value: keyed[key]})
		}
		return pairs, err
	}
}

func sortedKeys(m object) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// counts are the calls of handlers, where the host keeps no memos. An instance is
// not the only one of its operator, so this is a last resort.
var counts = map[string]int{}

// count counts the calls of the handler for the object, if the script asks for it.
func (c *call) count() {
	if !asksForCalls(c.spec.Do) {
		return
	}
	key := "calls " + c.ID
	if c.object != nil {
		key += " " + c.object.Namespace + "/" + c.object.Name
	}
	err := c.OperatorMemo().Update(key, func(old kopf.View) (any, error) {
		c.calls = old.Int()
		return c.calls + 1, nil
	})
	if err != nil {
		c.calls = counts[key]
		counts[key]++
	}
}

// asksForCalls tells whether a script has the condition calls_lt.
func asksForCalls(script []object) bool {
	return slices.ContainsFunc(script, func(op object) bool {
		cond, _ := op["if"].(object)
		return cond["calls_lt"] != nil || asksForCalls(scriptOf(op["do"])) || asksForCalls(scriptOf(op["else"]))
	})
}
