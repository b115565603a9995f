// Command 99-all-at-once has the features of the other examples in one operator.
package main

import (
	"errors"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.Want(kopf.Capabilities{Kubernetes: []kopf.KubernetesRule{{Groups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}}}})
	kopf.OnStartup(prepare, kopf.ID("prepare"))
	kopf.OnStartup(prepareLate, kopf.ID("prepare_late"))
	kopf.OnCleanup(cleanUp, kopf.ID("clean_up"))
	kopf.OnIndex("configmaps", copies, kopf.ID("copies"), kopf.Label("made-by", "example"))
	kopf.OnCreate("kopfexamples", firstStep, kopf.ID("first_step"))
	kopf.OnCreate("kopfexamples", secondStep, kopf.ID("second_step"), kopf.Backoff(time.Second))
	kopf.OnCreate("kopfexamples", copied, kopf.ID("copy"))
	kopf.OnCreate("kopfexamples", eachItem, kopf.ID("each_item"))
	kopf.OnUpdate("kopfexamples", updated, kopf.ID("update_fn"))
	kopf.OnField("kopfexamples", itemsChanged, kopf.ID("items_changed"), kopf.Field("spec.items"))
	kopf.OnDaemon("kopfexamples", watch, kopf.ID("watch"), kopf.Label("watched", "yes"))
	kopf.OnTimer("kopfexamples", count, kopf.ID("count"), kopf.Interval(time.Second), kopf.When(isUncounted))
	kopf.OnDelete("kopfexamples", deleted, kopf.ID("delete_fn"))
}

func prepare(a *kopf.Activity) (any, error) {
	if err := a.Sleep(time.Second / 2); err != nil {
		return nil, err
	}
	a.Log.Info("prepared")
	return nil, nil
}

func prepareLate(a *kopf.Activity) (any, error) {
	if a.Retry < 2 {
		return nil, kopf.Temporary("not yet", kopf.Delay(time.Second/2))
	}
	return nil, a.Memo.Set("prepared", true)
}

func cleanUp(a *kopf.Activity) (any, error) {
	err := a.Sleep(time.Second / 2)
	a.Log.Info("cleaned up")
	return nil, err
}

func copies(o *kopf.Indexed) (any, error) { return o.Name, nil }

func firstStep(c *kopf.Change) (any, error) {
	return kopf.Map{"prepared": c.Memo.Get("prepared")}, errors.Join(
		c.Events.Info("Begun", "the first step"),
		c.Events.Post("Warning", "Slow", "it may take some seconds"),
	)
}

func secondStep(c *kopf.Change) (any, error) {
	if c.Retry == 0 {
		return nil, errors.New("the first attempt fails")
	}
	return kopf.Map{"attempts": c.Retry + 1}, nil
}

func copied(c *kopf.Change) (any, error) {
	child := kopf.Map{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": kopf.Map{"name": c.Name + "-copy"},
		"data":     kopf.Map{"field": c.Spec.Get("field").String()},
	}
	labels := c.Labels.Map()
	labels["made-by"] = "example"
	if err := c.Adopt(child, kopf.Adoption{Labels: labels}); err != nil {
		return nil, err
	}
	if _, err := c.API("v1", "configmaps").Create(child); err != nil {
		return nil, err
	}
	return kopf.Map{"child": c.Name + "-copy"}, nil
}

func eachItem(c *kopf.Change) (any, error) {
	for _, item := range c.Spec.Get("items").Items() {
		c.Sub(item.String(), func(*kopf.Change) (any, error) { return strings.ToUpper(item.String()), nil })
	}
	return nil, nil
}

func updated(c *kopf.Change) (any, error) {
	var changes [][]any
	for _, item := range c.Diff() {
		changes = append(changes, []any{item.Op, strings.Join(item.Path, "."), item.Old, item.New})
	}
	return changes, nil
}

func itemsChanged(c *kopf.Change) (any, error) {
	return kopf.Map{"before": c.Old.Len(), "after": c.New.Len()}, nil
}

func watch(d *kopf.Daemon) (any, error) {
	for !d.Wait(time.Second / 2) {
		if found := d.Index("copies").Get(nil); len(found) > 0 {
			d.Patch.Status.Set("copies", found)
			break
		}
	}
	return nil, nil
}

func isUncounted(c *kopf.Cause) bool {
	return c.Status.Get("copies").Exists() && !c.Status.Get("counted").Exists()
}

func count(t *kopf.Timer) (any, error) {
	t.Patch.Status.Set("counted", t.Status.Get("copies").Len())
	return nil, nil
}

func deleted(c *kopf.Change) (any, error) {
	c.Log.Info("good-bye")
	return nil, nil
}

func main() {}
