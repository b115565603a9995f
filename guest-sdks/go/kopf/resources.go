package kopf

import (
	"reflect"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/jsonlite"
)

// Everything stands for all resources, alone or as the last part of Resource.
const Everything = "*"

// Selector selects the resources that a handler is for, by the parts that are
// set. Most handlers need none: they give the name of the resource as a string,
// or Resource.
//
// See https://docs.kopf.dev/en/latest/resources/
type Selector struct {
	Group, Version         string // an empty group is any: Resource("", "v1", "pods") is of the core API
	Kind, Plural, Singular string
	Shortcut, Category     string
	Func                   func(ResourceInfo) bool // asked for each resource of the cluster

	parts []string
	asked func(d *declaration) // declares Func; nil if there is none
}

// Target is what a handler can be registered for: the name of a resource
// ("kopfexamples", "kopfexamples.v1.kopf.dev"), Everything, or a Selector.
type Target interface{ ~string | Selector }

// Resource selects a resource by up to three parts, the last one of which is its
// name or Everything:
//
//	kopf.Resource("kopf.dev", "v1", "kopfexamples")
//	kopf.Resource("kopf.dev/v1", "kopfexamples")
//	kopf.Resource("kopf.dev", "kopfexamples")
//	kopf.Resource("", "v1", "pods")
//	kopf.Resource("kopf.dev", kopf.Everything)
func Resource(parts ...string) Selector { return Selector{parts: parts} }

// toSelector brings all forms of targets to one.
func toSelector[T Target](target T) Selector {
	if guest.IsText[T]() { // known to the compiler: functions and what calls them are left out
		return Resource(reflect.ValueOf(target).String()) // a string type of any name
	}
	s, _ := any(target).(Selector)
	if fn := s.Func; fn != nil {
		s.asked = func(d *declaration) {
			d.callback("resource", "", func(t *guest.Task, _ abi.Value) (any, error) {
				if t.Call.Resource == nil {
					return false, nil
				}
				return fn(*t.Call.Resource), nil
			})
		}
	}
	return s
}

// wire is the selector in a message.
func (s *Selector) wire() *abi.Selector {
	out := &abi.Selector{
		Version: s.Version, Kind: s.Kind, Plural: s.Plural,
		Singular: s.Singular, Shortcut: s.Shortcut, Category: s.Category,
		Function: s.Func != nil,
	}
	if s.Group != "" {
		out.Group = &s.Group
	}
	for i, part := range s.parts {
		if part == Everything && i == len(s.parts)-1 {
			out.Args = append(out.Args, abi.Raw(abi.Everything))
		} else {
			out.Args = append(out.Args, jsonlite.AppendString(nil, part))
		}
	}
	return out
}
