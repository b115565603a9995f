package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// emit prints a line.
func (in *interpreter) emit(record object) {
	if in.operator != "" {
		record["operator"] = in.operator
	}
	line, err := json.Marshal(record)
	if err != nil {
		panic(err)
	}
	in.print(string(line))
}

// describe is the line of an invocation.
func (c *call) describe() object {
	record := object{"handler": c.ID, "retry": c.Retry}
	if !c.Param.IsNull() {
		record["param"] = c.Param
	}
	if c.object != nil {
		record["name"], record["namespace"] = nullable(c.object.Name), nullable(c.object.Namespace)
	}
	switch {
	case c.change != nil:
		record["reason"] = c.change.Reason
		record["old"], record["new"] = c.change.Old, c.change.New
		record["diff"] = diffOf(c.change.Diff(), nil)
	case c.review != nil:
		c.describeReview(record)
	case c.activity != nil:
		record["activity"] = c.activity.Activity
	default:
		record["spec"] = c.object.Spec.Map()
	}
	if c.event != nil {
		record["type"] = nullable(c.event.Type)
	}
	for _, field := range c.spec.Log {
		c.describeField(record, field)
	}
	return record
}

func (c *call) describeReview(record object) {
	r := c.review
	delete(record, "retry")
	record["operation"], record["subresource"], record["dryrun"] = nullable(r.Operation), nullable(r.Subresource), r.DryRun
	record["user"] = r.UserInfo.Get("username")
	record["old_spec"], record["new_spec"] = r.Old.Get("spec"), r.New.Get("spec")
	record["diff"] = diffOf(r.Diff(), []string{"spec"})
	headers := []string{}
	for name := range r.Headers {
		if name = strings.ToLower(name); name == "content-type" || name == "accept" {
			headers = append(headers, name)
		}
	}
	slices.Sort(headers)
	record["headers"] = headers
}

// describeField adds a field that the case asks for.
func (c *call) describeField(record object, field string) {
	if field == "runtime" {
		record[field] = int(math.RoundToEven(c.Runtime.Seconds()))
	}
	if field == "memo" {
		record[field] = c.memo()
	}
	o := c.object
	if o == nil {
		return
	}
	switch field {
	case "resource":
		record[field] = resourceOf(o.Resource)
	case "finalizers":
		finalizers := o.Meta.Get("finalizers").List()
		record[field] = append([]any{}, finalizers...)
	case "annotations":
		record[field] = o.Annotations.Map()
	case "labels":
		record[field] = o.Labels.Map()
	case "body":
		record[field] = o.Body.Map()
	case "meta":
		record[field] = o.Meta.Map()
	case "spec":
		record[field] = o.Spec.Map()
	case "status":
		record[field] = o.Status.Map()
	case "uid":
		record[field] = nullable(o.UID)
	}
}

// resourceOf is a resource with its lists sorted.
func resourceOf(r kopf.ResourceInfo) object {
	return object{
		"group": r.Group, "version": r.Version, "plural": r.Plural, "kind": nullable(r.Kind),
		"singular": nullable(r.Singular), "shortcuts": sorted(r.Shortcuts), "categories": sorted(r.Categories),
		"subresources": sorted(r.Subresources), "namespaced": r.Namespaced, "preferred": r.Preferred,
	}
}

func sorted(list []string) []string {
	list = append([]string{}, list...)
	slices.Sort(list)
	return list
}

// diffOf is a difference below a path, sorted by its representation in Python.
func diffOf(diff []kopf.DiffItem, below []string) []any {
	out := []any{}
	for _, d := range diff {
		if len(d.Path) >= len(below) && slices.Equal(d.Path[:len(below)], below) {
			out = append(out, []any{d.Op, append([]string{}, d.Path...), d.Old, d.New})
		}
	}
	return sortedByRepr(out)
}

// sortedByRepr sorts values by their representations in Python.
func sortedByRepr(list []any) []any {
	slices.SortStableFunc(list, func(a, b any) int { return strings.Compare(repr(normal(a)), repr(normal(b))) })
	return list
}

// repr is the representation of a JSON value in Python.
func repr(value any) string {
	switch value := value.(type) {
	case nil:
		return "None"
	case bool:
		return strings.ToUpper(fmt.Sprint(value)[:1]) + fmt.Sprint(value)[1:]
	case string:
		if strings.Contains(value, "'") && !strings.Contains(value, `"`) {
			return `"` + value + `"`
		}
		return "'" + strings.ReplaceAll(value, "'", `\'`) + "'"
	case []any:
		items := make([]string, len(value))
		for i := range value {
			items[i] = repr(value[i])
		}
		return "[" + strings.Join(items, ", ") + "]"
	case object:
		items := []string{}
		for _, key := range sortedKeys(value) {
			items = append(items, repr(key)+": "+repr(value[key]))
		}
		return "{" + strings.Join(items, ", ") + "}"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}
