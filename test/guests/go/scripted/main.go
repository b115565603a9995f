// Command scripted is an operator for KopfExamples that does what its objects
// say in their specs, see script.go, and prints a line of JSON for each call of
// a handler to the standard output.
//
// The configuration chooses what is registered:
//
//	resource  instead of kopfexamples
//	handlers  some of: create update delete resume typed (default: the first two)
//	label     a label that objects must have to be handled
//	settings  JSON of settings that are set at the startup
//	startup   how long the startup takes, like 10s
package main

import (
	"os"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() { kopf.Setup(register) }

func register() error {
	resource := configured("resource", "kopfexamples")
	retried, filtered := kopf.Backoff(time.Second), kopf.Join[kopf.FilterOption]()
	if label := kopf.Config("label"); label != "" {
		filtered = kopf.Label(label, kopf.Present)
	}
	for _, kind := range strings.Fields(configured("handlers", "create update")) {
		switch kind {
		case "create":
			kopf.OnCreate(resource, createFn, kopf.ID("create_fn"), retried, filtered)
		case "update":
			kopf.OnUpdate(resource, updateFn, kopf.ID("update_fn"), retried, filtered)
		case "delete":
			kopf.OnDelete(resource, deleteFn, kopf.ID("delete_fn"), retried, filtered)
		case "typed":
			kopf.Typed[typedSpec](resource).OnCreate(typedFn, kopf.ID("typed_fn"), retried, filtered)
		case "resume":
			kopf.OnResume(resource, resumeFn, kopf.ID("resume_fn"), retried, filtered)
		}
	}
	if kopf.Config("settings") != "" || kopf.Config("startup") != "" {
		kopf.OnStartup(startupFn)
	}
	return nil
}

func configured(key, otherwise string) string {
	if value := kopf.Config(key); value != "" {
		return value
	}
	return otherwise
}

func startupFn(a *kopf.Activity) (any, error) {
	for name, value := range kopf.JSON([]byte(kopf.Config("settings"))).Members() {
		a.Settings.Set(name, value)
	}
	duration, err := time.ParseDuration(configured("startup", "0s"))
	if err != nil {
		return nil, err
	}
	return nil, a.Sleep(duration)
}

// typedSpec is what specs are for typedFn.
type typedSpec struct {
	Size  int `json:"size"`
	Zones []struct {
		Name string `json:"name"`
	} `json:"zones"`
}

func typedFn(c *kopf.ChangeOf[typedSpec]) (any, error) {
	c.Log.Info("the typed handler runs")
	return c.Spec.Size * 2, nil
}

func createFn(c *kopf.Change) (any, error) { return handle(c) }
func updateFn(c *kopf.Change) (any, error) { return handle(c) }
func deleteFn(c *kopf.Change) (any, error) { return handle(c) }
func resumeFn(c *kopf.Change) (any, error) { return handle(c) }

func handle(c *kopf.Change) (any, error) {
	printCall(c)
	if times := c.Spec.Get("times"); times.Exists() && c.Retry >= times.Int() {
		return nil, nil
	}
	return do(c)
}

// maxPrinted is the size of objects from which on only their names are printed:
// the host cuts long lines.
const maxPrinted = 20_000

func printCall(c *kopf.Change) {
	line := kopf.Map{
		"handler": c.ID, "reason": c.Reason, "retry": c.Retry, "name": c.Name, "namespace": c.Namespace,
		"finalizers": c.Meta.Get("finalizers"), "started": c.Started().Format(time.RFC3339Nano),
		"called": time.Now().Format(time.RFC3339Nano),
	}
	if len(c.Body.Raw()) <= maxPrinted {
		diff := []any{}
		for _, d := range c.Diff() {
			diff = append(diff, []any{d.Op, append([]string{}, d.Path...), d.Old, d.New})
		}
		line["old"], line["new"], line["diff"] = c.Old, c.New, diff
	}
	printLine(line)
}

// printLine prints a line to the standard output, in one write.
func printLine(values kopf.Map) {
	line, err := kopf.Encode(values)
	if err != nil {
		panic(err)
	}
	if _, err := os.Stdout.Write(append(line, '\n')); err != nil {
		panic(err)
	}
}

func main() { kopf.Main() }
