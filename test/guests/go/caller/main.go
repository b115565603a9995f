// Command caller is an operator for KopfExamples that makes the requests of
// `spec.do`, one after another, and tells in its result how they ended. The
// configuration chooses what it declares to want (JSON), and what else it registers:
// daemon, startup.
package main

import (
	"errors"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() { kopf.Setup(register) }

func register() error {
	kopf.Operator("caller", "")
	wanted, err := kopf.Decode[kopf.Capabilities](kopf.JSON([]byte(kopf.Config("want"))))
	if err != nil && kopf.Config("want") != "" {
		return err
	}
	kopf.Want(wanted)
	switch kopf.Config("register") {
	case "daemon":
		kopf.OnDaemon("kopfexamples", daemon, kopf.CancellationTimeout(10*time.Second))
	case "startup":
		kopf.OnStartup(startup, kopf.Retries(1))
	default:
		kopf.OnCreate("kopfexamples", requests, kopf.Backoff(time.Second))
	}
	return nil
}

func requests(c *kopf.Change) (any, error) {
	var results []any
	for _, step := range c.Spec.Get("do").Items() {
		if about := step.Get("event"); about.Exists() {
			err := c.Events.About(about).Post(kopf.EventNormal, "Told", "by the caller")
			results = append(results, outcome("posted", err))
			continue
		}
		value, err := request(&c.Call, step)
		if err != nil && step.Get("fail").Bool() {
			return nil, err
		}
		results = append(results, outcome(value, err))
	}
	return results, nil
}

// daemon makes a request that takes long, and says how it ended.
func daemon(d *kopf.Daemon) (any, error) {
	d.Log.Info("the daemon asks")
	_, err := request(&d.Call, d.Spec.Get("do", 0))
	var failure *kopf.RequestError
	if errors.As(err, &failure) {
		d.Log.Info("the request of the daemon was cancelled", "code", failure.Code, "cancelled", d.Context().Err() != nil)
	}
	return nil, err
}

func startup(a *kopf.Activity) (any, error) {
	return a.API("v1", "namespaces").Get("default")
}

func outcome(value any, err error) kopf.Map {
	var refused *kopf.RequestError
	var failed *kopf.APIError
	switch {
	case errors.As(err, &refused):
		return kopf.Map{"refused": refused.Code, "message": refused.Message}
	case errors.As(err, &failed):
		return kopf.Map{"failed": failed.Code, "reason": failed.Reason, "message": failed.Message, "kind": kindOf(err)}
	case err != nil:
		return kopf.Map{"error": err.Error()}
	}
	return kopf.Map{"ok": value}
}

func kindOf(err error) string {
	for name, kind := range map[string]error{
		"not found": kopf.ErrNotFound, "already exists": kopf.ErrAlreadyExists, "conflict": kopf.ErrConflict,
		"forbidden": kopf.ErrForbidden, "invalid": kopf.ErrInvalid,
	} {
		if errors.Is(err, kind) {
			return name
		}
	}
	return ""
}

func request(c *kopf.Call, step kopf.View) (any, error) {
	if fetch := step.Get("fetch"); fetch.Exists() {
		return webRequest(c, fetch)
	}
	api := c.API(step.Get("version").String(), step.Get("plural").String())
	if namespace := step.Get("namespace"); namespace.Exists() {
		api.Namespace = namespace.String()
	}
	api.Subresource = step.Get("subresource").String()
	name, object := step.Get("name").String(), step.Get("object")
	switch step.Get("verb").String() {
	case "get":
		return api.Get(name)
	case "list":
		return list(api, step)
	case "create":
		return api.Create(object)
	case "update":
		return api.Update(object)
	case "apply":
		if step.Get("force").Bool() {
			return api.Apply(object, kopf.Force{})
		}
		return api.Apply(object)
	case "patch":
		return api.Patch(name, object)
	case "edit":
		return api.PatchJSON(name, object)
	case "delete":
		return nil, api.Delete(name, kopf.DeleteOptions{UID: step.Get("uid").String()})
	}
	return nil, kopf.Permanent("no such verb")
}

func list(api kopf.API, step kopf.View) (any, error) {
	names := []any{}
	options := kopf.ListOptions{Labels: step.Get("labels").String(), Page: step.Get("page").Int()}
	for object, err := range api.List(options) {
		if err != nil {
			return nil, err
		}
		names = append(names, object.Get("metadata", "name"))
	}
	return names, nil
}

func webRequest(c *kopf.Call, fetch kopf.View) (any, error) {
	r := kopf.Request{URL: fetch.Get("url").String(), Method: fetch.Get("method").String()}
	r.Timeout = time.Duration(fetch.Get("timeout").Float() * float64(time.Second))
	for name, value := range fetch.Get("header").Members() {
		if r.Header == nil {
			r.Header = kopf.Header{}
		}
		r.Header[name] = []string{value.String()}
	}
	if body := fetch.Get("body"); body.IsString() {
		r.Body = body.String()
	} else if body.Exists() {
		r.Body = body
	}
	if binary := fetch.Get("binary"); binary.Exists() {
		r.Body = []byte{0, 255, 254}
	}
	rsp, err := c.Fetch(r)
	if err != nil {
		return nil, err
	}
	return kopf.Map{"status": rsp.Status, "body": string(rsp.Body), "size": len(rsp.Body), "type": rsp.Header["Content-Type"]}, nil
}

func main() {}
