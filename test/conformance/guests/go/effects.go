package main

import (
	"slices"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// patchOps change the handled object.
var patchOps = map[string]operation{
	"patch":             func(c *call, arg any) error { c.patch.Merge(arg); return nil },
	"patch_meta":        func(c *call, arg any) error { c.patch.Meta.Merge(arg); return nil },
	"patch_status":      func(c *call, arg any) error { return setAll(c.patch.Status, arg) },
	"patch_spec":        func(c *call, arg any) error { return setAll(c.patch.Spec, arg) },
	"patch_annotations": func(c *call, arg any) error { return setAll(c.patch.Annotations, arg) },
	"patch_labels":      func(c *call, arg any) error { return setAll(c.patch.Labels, arg) },
	"edit": func(c *call, arg any) error {
		ops := scriptOf(arg)
		c.patch.Edit(func(body kopf.Map) error { return edit(body, ops) })
		return nil
	},
}

// setAll sets values without merging them.
func setAll(v kopf.PatchView, arg any) error {
	for key, value := range argsOf(arg) {
		v.Set(key, value)
	}
	return nil
}

// edit changes a body in place.
func edit(body kopf.Map, ops []object) error {
	for _, op := range ops {
		path, err := into[[]string](op["path"])
		if err != nil {
			return err
		}
		last := len(path) - 1
		target, key := kopf.Nested(body, path[:last]...), path[last]
		list, _ := target[key].([]any)
		switch op["do"] {
		case "set":
			target[key] = op["value"]
		case "append":
			target[key] = append(list, op["value"])
		case "remove":
			delete(target, key)
		case "remove_value":
			target[key] = slices.DeleteFunc(append([]any{}, list...), func(item any) bool { return equal(item, op["value"]) })
		}
	}
	return nil
}

// effectOps have effects outside of the object.
var effectOps = map[string]operation{
	"event": func(c *call, arg any) error {
		a := argsOf(arg)
		return c.events.Post(a.text("type"), a.text("reason"), a.text("message"))
	},
	"info": func(c *call, arg any) error {
		return c.events.Info(argsOf(arg).text("reason"), argsOf(arg).text("message"))
	},
	"warn": func(c *call, arg any) error {
		return c.events.Warn(argsOf(arg).text("reason"), argsOf(arg).text("message"))
	},
	"exception": func(c *call, arg any) error {
		a := argsOf(arg)
		exc := ValueError("boo")
		if a["exc"] != nil {
			exc = ValueError(a.text("exc"))
		}
		return c.events.Exception(exc, a.text("reason"), a.text("message"))
	},
	"log": func(c *call, arg any) error {
		levels := map[string]int{
			"debug": kopf.LevelDebug, "": kopf.LevelInfo, "info": kopf.LevelInfo, "warning": kopf.LevelWarn,
			"error": kopf.LevelError, "exception": kopf.LevelError, "critical": kopf.LevelCritical,
		}
		c.Log.Log(levels[argsOf(arg).text("level")], argsOf(arg).text("msg"))
		return nil
	},
	"mark": func(c *call, arg any) error { c.mark(arg, nil); return nil },
	"memo": func(c *call, arg any) error {
		return c.updateMemo(func(memo object) {
			for key, value := range argsOf(arg) {
				memo[key] = value
			}
		})
	},
	"memo_count": func(c *call, arg any) error {
		key, _ := arg.(string)
		return c.updateMemo(func(memo object) {
			n, _ := memo[key].(int64)
			memo[key] = n + 1
		})
	},
	"admission_warning": func(c *call, arg any) error {
		text, _ := arg.(string)
		c.review.Warn(text)
		return nil
	},
	"dump_index": opDumpIndex,
	"hierarchy":  opHierarchy,
	"settings":   func(c *call, arg any) error { return configure(c.activity.Settings, argsOf(arg)) },
}

// mark prints a line that is not of an invocation.
func (c *call) mark(mark any, more object) {
	record := object{"mark": mark, "handler": c.ID, "name": nil}
	if c.object != nil {
		record["name"] = nullable(c.object.Name)
	}
	for key, value := range more {
		record[key] = value
	}
	c.in.emit(record)
}

// memoKey is the key of the one document that scripts use as the memo.
const memoKey = "memo"

func (c *call) memo() object { return c.Memo.Get(memoKey).Map() }

func (c *call) updateMemo(change func(memo object)) error {
	return c.Memo.Update(memoKey, func(old kopf.View) (any, error) {
		memo := old.Map()
		change(memo)
		return memo, nil
	})
}

// opDumpIndex prints the contents of indices.
func opDumpIndex(c *call, arg any) error {
	names, err := into[[]string](arg)
	for _, name := range names {
		content, index := object{}, c.Index(name)
		for _, key := range index.Keys() {
			values := []any{}
			for _, value := range index.Get(key) {
				values = append(values, value)
			}
			content[string(key.Raw())] = sortedByRepr(values)
		}
		c.in.emit(object{"index": name, "content": content})
	}
	return err
}
