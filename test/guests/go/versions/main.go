// Command versions is an operator for KopfExamples whose configuration makes it one of several versions: version=2,
// handlers=create,daemon. Each handler prints a line of JSON with the version to the standard output. Those of changes mark the version in the status of
// objects that want it.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

var (
	version  = configured("version", "1")
	resource = configured("resource", "kopfexamples")
	handlers = configured("handlers", "create,update")
	setting  = configured("setting", "") // name=seconds: is set at the startup
)

func configured(key, otherwise string) string { return cmp.Or(kopf.Config(key), otherwise) }

func init() { kopf.Setup(register) }

func register() error {
	for _, kind := range strings.Split(handlers, ",") {
		switch kind {
		case "create":
			kopf.OnCreate(resource, createFn)
		case "update":
			kopf.OnUpdate(resource, updateFn)
		case "delete":
			kopf.OnDelete(resource, deleteFn)
		case "again":
			kopf.OnUpdate(resource, againFn)
		case "resume":
			kopf.OnResume(resource, resumeFn)
		case "event":
			kopf.OnEvent(resource, eventFn)
		case "index":
			kopf.OnIndex(resource, indexFn)
		case "daemon":
			kopf.OnDaemon(resource, daemonFn)
		case "timer":
			kopf.OnTimer(resource, timerFn, kopf.Interval(100*time.Millisecond))
		case "check", "recheck":
			kopf.OnValidate(resource, checkFn, kopf.ID(kind))
		case "fill":
			kopf.OnMutate(resource, fillFn, kopf.ID(kind))
		case "background":
			kopf.OnBackground(backgroundFn)
		case "startup":
			kopf.OnStartup(startupFn)
		case "cleanup":
			kopf.OnCleanup(cleanupFn)
		case "pods": // which is not granted
			kopf.Want(kopf.Capabilities{Kubernetes: []kopf.KubernetesRule{{Groups: []string{""}, Verbs: []string{"list"}, Resources: []string{"pods"}}}})
		case "trap":
			panic("it wants a trap")
		case "refuse":
			return fmt.Errorf("it refuses its configuration")
		default:
			return fmt.Errorf("there is no handler of the kind %q", kind)
		}
	}
	return nil
}

func say(handler, name string, more ...any) {
	line, _ := json.Marshal(map[string]any{"version": version, "handler": handler, "name": name, "more": more, "called": time.Now().Format(time.RFC3339Nano)})
	fmt.Println(string(line))
}

func createFn(c *kopf.Change) (any, error) { return change(c, "create") }
func updateFn(c *kopf.Change) (any, error) { return change(c, "update") }
func resumeFn(c *kopf.Change) (any, error) { return change(c, "resume") }

func deleteFn(c *kopf.Change) (any, error) { return change(c, "delete") }

// againFn changes the object whenever the object has changed.
func againFn(c *kopf.Change) (any, error) {
	c.Patch.Spec.Set("field", c.Spec.Get("field").String()+"x")
	return nil, nil
}

// change says what is in the index, and takes as long as the object wants.
func change(c *kopf.Change, handler string) (any, error) {
	found := []string{}
	if strings.Contains(handlers, "index") {
		for _, value := range c.Index("indexFn").Get("all") {
			found = append(found, value.String())
		}
	}
	say(handler, c.Name, len(found), found)
	if v := c.Spec.Get("seconds"); v.Exists() {
		if err := c.Sleep(time.Duration(v.Float() * float64(time.Second))); err != nil {
			return nil, err
		}
		say("slept", c.Name)
	}
	if c.Spec.Get("mark").Bool() {
		c.Patch.Status.Set("version", version)
	}
	if c.Spec.Get("do").String() == "fail" && version == "1" {
		return nil, kopf.Temporary("only the first version fails", kopf.Delay(time.Second))
	}
	return nil, nil
}

func eventFn(e *kopf.Event) (any, error) {
	say("event", e.Name)
	return nil, nil
}

func indexFn(o *kopf.Indexed) (any, error) {
	return kopf.Pairs{{Key: "all", Value: version}}, nil
}

func daemonFn(d *kopf.Daemon) (any, error) {
	say("daemon", d.Name)
	if d.Spec.Get("do").String() == "end" && version == "1" {
		return nil, nil
	}
	for !d.Wait(time.Hour) {
		continue
	}
	say("stopped", d.Name, d.StopReasons())
	if d.Spec.Get("do").String() == "linger" {
		_ = d.Sleep(time.Second)
		say("lingered", d.Name)
	}
	return nil, nil
}

func checkFn(r *kopf.Review) error {
	say("check", r.Name)
	if r.Spec.Get("do").String() == "deny" {
		return kopf.Permanent("it wants to be denied")
	}
	return nil
}

func fillFn(r *kopf.Review) error {
	r.Patch.Spec.Set("field", "filled")
	return nil
}

func timerFn(t *kopf.Timer) (any, error) {
	say("timer", t.Name)
	return nil, nil
}

func backgroundFn(b *kopf.Background) (any, error) {
	say("background", "")
	for !b.Wait(time.Hour) {
		continue
	}
	say("background stopped", "")
	return nil, nil
}

func startupFn(a *kopf.Activity) (any, error) {
	say("startup", "")
	if name, value, ok := strings.Cut(setting, "="); ok {
		a.Settings.Set(name, kopf.JSON([]byte(value)))
	}
	return nil, nil
}

func cleanupFn(*kopf.Activity) (any, error) {
	say("cleanup", "")
	return nil, nil
}

func main() {}
