// Command 11-filtering-handlers has handlers that are called for some objects only: by labels,
// annotations, fields and functions.
package main

import (
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	on := func(id string, filters ...kopf.FilterOption) {
		kopf.OnCreate("kopfexamples", called, kopf.ID(id), kopf.Join(filters...))
	}
	on("label_equals", kopf.Label("owner", "us"))
	on("label_is_present", kopf.Label("owner", kopf.Present))
	on("label_is_absent", kopf.Label("unknown", kopf.Absent))
	on("label_is_ours", kopf.Label("owner", isOurs))
	on("annotation_is_theirs", kopf.Annotation("owner", isTheirs))
	on("annotations_fit", kopf.Annotation("owner", kopf.Present), kopf.Annotation("unknown", kopf.Absent))
	on("functions_agree", kopf.When(kopf.All(isNamed, kopf.Not(isOff))))
	on("function_disagrees", kopf.When(func(*kopf.Cause) bool { return false }))
	on("field_equals", kopf.Field("spec.field"), kopf.Value("value"))
	on("field_differs", kopf.Field("spec.field"), kopf.Value("other"))
	on("field_is_present", kopf.Field("spec.unknown"), kopf.Value(kopf.Present))
	kopf.OnUpdate("kopfexamples", called, kopf.ID("change_fits"), kopf.Field("spec.field"), kopf.OldValue("value"), kopf.NewValue("changed"))
	kopf.OnDaemon("kopfexamples", accompanies, kopf.ID("accompanies"), kopf.Field("spec.field"), kopf.Value("value"))
}

func isOurs(c *kopf.Cause) bool   { return c.Value.String() == "us" && c.Spec.Get("field").Exists() }
func isTheirs(c *kopf.Cause) bool { return c.Value.String() == "them" }
func isNamed(c *kopf.Cause) bool  { return strings.HasPrefix(c.Name, "kopf-") }
func isOff(c *kopf.Cause) bool    { return c.Spec.Get("off").Exists() }

func called(*kopf.Change) (any, error) { return "called", nil }

func accompanies(d *kopf.Daemon) (any, error) {
	for !d.Wait(time.Second) {
		d.Log.Info("the field still has its value")
	}
	return nil, nil
}

func main() {}
