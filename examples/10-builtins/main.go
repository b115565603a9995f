// Command 10-builtins handles pods: it deletes those whose lifetime, an annotation in
// seconds, is over.
package main

import (
	"strconv"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

const lifetime = "example.com/lifetime"

func init() {
	kopf.Want(kopf.Capabilities{Kubernetes: []kopf.KubernetesRule{{Groups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"delete"}}}})
	kopf.OnResume("pods", podInSight, kopf.ID("pod_in_sight"))
	kopf.OnCreate("pods", podInSight, kopf.ID("pod_in_sight"))
	kopf.OnDaemon("pods", podKiller, kopf.ID("pod_killer"), kopf.Annotation(lifetime, kopf.Present))
}

func podInSight(c *kopf.Change) (any, error) {
	c.Patch.Labels.Set("example.com/seen", "yes")
	return nil, nil
}

func podKiller(d *kopf.Daemon) (any, error) {
	seconds, err := strconv.ParseFloat(d.Annotations.Get(lifetime).String(), 64)
	if err != nil {
		return nil, kopf.PermanentFrom(err, lifetime)
	}
	if d.Wait(time.Duration(seconds * float64(time.Second))) {
		d.Log.Info("deleted before its time")
		return nil, nil
	}
	if err := d.API("v1", "pods").Delete(d.Name); err != nil {
		return nil, err
	}
	d.Log.Info("its time is over")
	return nil, nil
}

func main() {}
