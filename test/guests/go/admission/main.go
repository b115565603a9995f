// Command admission is an operator whose admission handlers do what the objects
// say in their specs, and print a line of JSON for each call.
//
// The configuration chooses what is registered:
//
//	group     of the resource widgets, in version v1
//	handlers  some of those below; "check" and "fill" by default
//	settings  JSON of settings that are set at the startup
//	watch     yes: the widgets are watched, too, by a handler that holds its instance
package main

import (
	"errors"
	"os"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() { kopf.Setup(register) }

func register() error {
	widgets := kopf.Resource(kopf.Config("group"), "v1", "widgets")
	declared := kopf.Config("handlers")
	if declared == "" {
		declared = "check fill"
	}
	for _, name := range strings.Fields(declared) {
		switch name {
		case "check":
			kopf.OnValidate(widgets, review, kopf.ID("check"))
		case "fill":
			kopf.OnMutate(widgets, review, kopf.ID("fill"))
		case "lenient":
			kopf.OnValidate(widgets, review, kopf.ID("lenient"), kopf.IgnoreFailures())
		case "kept":
			kopf.OnValidate(widgets, review, kopf.ID("kept"), kopf.Persistent(), kopf.IgnoreFailures())
		case "effects":
			kopf.OnValidate(widgets, review, kopf.ID("effects"), kopf.SideEffects(), kopf.Operations(kopf.Deleting))
		case "labelled":
			kopf.OnValidate(widgets, review, kopf.ID("labelled"), kopf.Label("reviewed", kopf.Present))
		case "annotated":
			kopf.OnValidate(widgets, review, kopf.ID("annotated"), kopf.Annotation("reviewed", "yes"))
		case "picky":
			kopf.OnValidate(widgets, review, kopf.ID("picky"), kopf.When(func(c *kopf.Cause) bool { return c.Spec.Get("picked").Bool() }))
		case "scaled":
			kopf.OnValidate(widgets, review, kopf.ID("scaled"), kopf.Subresource("status"))
		case "sized":
			kopf.OnValidate(widgets, review, kopf.ID("sized"), kopf.Field("spec.size"), kopf.Value(5))
		case "writes":
			kopf.OnValidate(widgets, write, kopf.ID("writes"), kopf.SideEffects())
		case "claims":
			kopf.OnValidate(widgets, write, kopf.ID("claims"))
		case "versions":
			registerVersions(kopf.Resource("widgets." + kopf.Config("group")))
		case "names":
			kopf.OnIndex(widgets, index, kopf.ID("names"))
		}
	}
	if kopf.Config("watch") != "" {
		kopf.OnCreate(widgets, hold, kopf.ID("hold"))
	}
	if kopf.Config("settings") != "" {
		kopf.OnStartup(startup)
	}
	return nil
}

func startup(a *kopf.Activity) (any, error) {
	for name, value := range kopf.JSON([]byte(kopf.Config("settings"))).Members() {
		a.Settings.Set(name, value)
	}
	return nil, nil
}

// hold keeps its instance for as long as the object says, or until a child of it is
// made, which is reviewed.
func hold(c *kopf.Change) (any, error) {
	if child := c.Spec.Get("child").String(); child != "" {
		_, err := c.API(kopf.Config("group")+"/v1", "widgets").Create(kopf.Map{
			"apiVersion": kopf.Config("group") + "/v1", "kind": "Widget",
			"metadata": kopf.Map{"name": child, "namespace": c.Namespace}, "spec": kopf.Map{"child": ""},
		})
		return nil, err
	}
	return nil, c.Sleep(time.Duration(c.Spec.Get("hold").Float() * float64(time.Second)))
}

// write makes a config map in the middle of a review.
func write(r *kopf.Review) error {
	_, err := r.API("v1", "configmaps").Create(kopf.Map{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": kopf.Map{"name": r.ID + "-" + r.Name, "namespace": r.Namespace},
	})
	return err
}

func index(o *kopf.Indexed) (any, error) { return kopf.Pairs{{Key: "all", Value: o.Name}}, nil }

func review(r *kopf.Review) error {
	err := r.Memo.Update("reviews", func(old kopf.View) (any, error) { return old.Int() + 1, nil })
	if err != nil {
		return err
	}
	printReview(r)
	return do(r)
}

func do(r *kopf.Review) error {
	switch r.Spec.Get("do").String() {
	case "deny":
		return kopf.Denied("the widget is bad", 422)
	case "permanent":
		return kopf.Permanent("never")
	case "temporary":
		return kopf.Temporary("not now")
	case "arbitrary":
		return errors.New("something is wrong")
	case "refuse":
		return kopf.Denied(r.Spec.Get("message").String(), r.Spec.Get("code").Int())
	case "say":
		for _, text := range r.Spec.Get("texts").Items() {
			r.Warn(strings.Repeat(text.String(), max(r.Spec.Get("times").Int(), 1)))
		}
	case "patch":
		if r.ID == "fill" {
			r.Patch.Merge(r.Spec.Get("patch"))
		}
	case "warn":
		r.Warn("be careful")
		r.Warn("and think twice")
	case "mutate", "fill":
		if r.ID != "fill" && r.Spec.Get("do").String() == "fill" {
			return nil // only the mutating handler does
		}
		r.Patch.Spec.Set("filled", true)
		r.Patch.Labels.Set("filled", "yes")
		r.Patch.Edit(func(body kopf.Map) error {
			spec := kopf.Nested(body, "spec")
			list, _ := spec["list"].([]any)
			spec["list"] = append(list, "edited")
			return nil
		})
	case "misfit":
		r.Patch.In("spec", "do").Set("x", 1) // there is a string
	case "panic":
		panic("the widget wants a panic")
	case "spin":
		for n := 1; n != 0; n += 2 { // which is never
		}
	case "sleep":
		return r.Sleep(time.Duration(r.Spec.Get("seconds").Float() * float64(time.Second)))
	}
	return nil
}

func printReview(r *kopf.Review) {
	line, err := kopf.Encode(kopf.Map{
		"handler": r.ID, "operation": r.Operation, "subresource": r.Subresource, "dryrun": r.DryRun, "name": r.Name,
		"user": r.UserInfo.Get("username"), "sslpeer": r.SSLPeer, "agent": r.Headers["User-Agent"],
		"old": r.Old.Get("spec"), "new": r.New.Get("spec"), "changes": len(r.Diff()),
		"memo": r.Memo.Get("reviews"), "indexed": r.Index("names").Get("all"), "resource": r.Resource.Plural,
	})
	if err != nil {
		panic(err)
	}
	if _, err := os.Stdout.Write(append(line, '\n')); err != nil {
		panic(err)
	}
}

func main() {}
