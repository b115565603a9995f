// Command resources shows how handlers select resources.
package main

import (
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	// [names]
	kopf.OnEvent("kopfexamples", seen)             // by the plural name, the kind,
	kopf.OnEvent("KopfExample", seen)              // the singular name, or a short name
	kopf.OnEvent("kopfexamples.kopf.dev", seen)    // with the group
	kopf.OnEvent("kopfexamples.v1.kopf.dev", seen) // with the version and the group
	// [/names]

	// [parts]
	kopf.OnEvent(kopf.Resource("kopf.dev", "v1", "kopfexamples"), seen)
	kopf.OnEvent(kopf.Resource("kopf.dev/v1", "kopfexamples"), seen)
	kopf.OnEvent(kopf.Resource("kopf.dev", "kopfexamples"), seen)
	kopf.OnEvent(kopf.Resource("", "v1", "pods"), seen) // the core API
	kopf.OnEvent(kopf.Resource("v1", "pods"), seen)     // the same
	// [/parts]

	// [selector]
	kopf.OnEvent(kopf.Selector{Group: "kopf.dev", Kind: "KopfExample"}, seen)
	kopf.OnEvent(kopf.Selector{Category: "all"}, seen)
	// [/selector]

	// [everything]
	kopf.OnEvent(kopf.Everything, seen)
	kopf.OnEvent(kopf.Resource("kopf.dev", kopf.Everything), seen)
	// [/everything]

	// [function]
	kopf.OnEvent(kopf.Selector{Func: func(r kopf.ResourceInfo) bool {
		return r.Namespaced && r.Group == "kopf.dev"
	}}, seen)
	// [/function]
}

func seen(*kopf.Event) (any, error) { return nil, nil }

func main() {}
