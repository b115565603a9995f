// Command requests shows how handlers reach Kubernetes and other servers.
package main

import (
	"errors"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// [want]

func init() {
	kopf.Operator("archiver", "1.0")
	kopf.Want(kopf.Capabilities{
		Kubernetes: []kopf.KubernetesRule{{
			Groups: []string{""}, Resources: []string{"configmaps", "pods"},
			Verbs: []string{"get", "list", "create", "patch", "delete"},
		}},
		HTTP: []string{"api.example.com"},
	})
	kopf.OnCreate("kopfexamples", create)
	kopf.OnUpdate("kopfexamples", update)
	kopf.OnDelete("kopfexamples", remove)
	kopf.OnResume("kopfexamples", resume)
}

// [/want]

// [client]

func create(c *kopf.Change) (any, error) {
	archive := kopf.Map{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": kopf.Map{"name": c.Name + "-archive"},
		"data":     kopf.Map{"spec": string(c.Spec.Raw())},
	}
	if err := c.Adopt(archive); err != nil {
		return nil, err
	}
	made, err := c.API("v1", "configmaps").Apply(archive)
	if err != nil {
		return nil, err
	}
	return kopf.Map{"archive": made.Get("metadata", "name")}, nil
}

// [/client]

// [errors]

func remove(c *kopf.Change) (any, error) {
	err := c.API("v1", "configmaps").Delete(c.Name + "-archive")
	switch {
	case errors.Is(err, kopf.ErrNotFound):
		return nil, nil // as well
	case errors.Is(err, kopf.ErrConflict):
		return nil, kopf.Temporary("another writer has just changed it", kopf.Delay(time.Second))
	}
	return nil, err
}

// [/errors]

// [list]

func busy(c *kopf.Change) (names []string, err error) {
	for pod, err := range c.API("v1", "pods").List(kopf.ListOptions{Labels: "app=" + c.Name}) {
		if err != nil {
			return nil, err
		}
		names = append(names, pod.Get("metadata", "name").String())
	}
	return names, nil
}

// [/list]

func resume(c *kopf.Change) (any, error) {
	names, err := busy(c)
	return names, err
}

// [fetch]

func update(c *kopf.Change) (any, error) {
	rsp, err := c.Fetch(kopf.Request{
		URL:     "https://api.example.com/v1/archives",
		Header:  kopf.Header{"Authorization": {"Bearer " + kopf.Config("token")}},
		Body:    kopf.Map{"name": c.Name, "spec": c.Spec},
		Timeout: 5 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	if rsp.Status != 200 {
		return nil, kopf.Temporary("the archive is closed", kopf.Delay(time.Minute))
	}
	return kopf.Map{"id": rsp.JSON().Get("id")}, nil
}

// [/fetch]

func main() {}
