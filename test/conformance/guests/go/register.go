package main

import (
	"fmt"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// register declares a handler by one of its decorators.
func (in *interpreter) register(decorator object, spec *handlerSpec, identity string) error {
	selector, err := toSelector(decorator["resource"])
	if err != nil {
		return fmt.Errorf("%s: %w", spec.Name, err)
	}
	opts, err := in.toOptions(decorator)
	if err != nil {
		return fmt.Errorf("%s: %w", spec.Name, err)
	}
	all := kopf.Join(append([]kopf.Option{kopf.ID(spec.Name), kopf.Identity(identity)}, opts...)...)
	kind, _ := decorator["type"].(string)
	switch kind {
	case "create":
		kopf.OnCreate(selector, in.change(spec), all)
	case "update":
		kopf.OnUpdate(selector, in.change(spec), all)
	case "delete":
		kopf.OnDelete(selector, in.change(spec), all)
	case "resume":
		kopf.OnResume(selector, in.change(spec), all)
	case "field":
		kopf.OnField(selector, in.change(spec), all)
	case "event":
		kopf.OnEvent(selector, in.event(spec), all)
	case "timer":
		kopf.OnTimer(selector, in.timer(spec), all)
	case "daemon":
		kopf.OnDaemon(selector, in.daemon(spec), all)
	case "index":
		kopf.OnIndex(selector, in.index(spec), all)
	case "validate":
		kopf.OnValidate(selector, in.review(spec), all)
	case "mutate":
		kopf.OnMutate(selector, in.review(spec), all)
	case "startup":
		kopf.OnStartup(in.activity(spec), all)
	case "cleanup":
		kopf.OnCleanup(in.activity(spec), all)
	case "probe":
		kopf.OnProbe(in.activity(spec), all)
	case "login":
		kopf.OnLogin(in.activity(spec), all)
	default:
		return fmt.Errorf("%s: unknown type of a handler: %q", spec.Name, kind)
	}
	return nil
}

// toSelector understands all notations of resources.
func toSelector(resource any) (kopf.Selector, error) {
	switch r := resource.(type) {
	case nil:
		return kopf.Selector{}, nil
	case string:
		return kopf.Resource(r), nil
	case []any:
		return kopf.Resource(parts(r)...), nil
	case object:
		if r["everything"] == true {
			return kopf.Resource(kopf.Everything), nil
		}
		if in, ok := r["everything_in"].([]any); ok {
			return kopf.Resource(append(parts(in), kopf.Everything)...), nil
		}
		if where, ok := r["where"].(object); ok {
			return kopf.Selector{Func: func(info kopf.ResourceInfo) bool { return info.Group == where["group"] }}, nil
		}
		return into[kopf.Selector](r) // names of fields are matched in any case
	}
	return kopf.Selector{}, fmt.Errorf("unknown notation of a resource: %v", resource)
}

// parts are positional arguments of a selector.
func parts(list []any) []string {
	var out []string
	for _, part := range list {
		if text, ok := part.(string); ok {
			out = append(out, text)
		} else {
			out = append(out, kopf.Everything)
		}
	}
	return out
}
