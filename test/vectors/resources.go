package vectors

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

var resourceFunctions = map[string]Function{
	"resource-selectors": {Call: selectResources},
	"resource-urls":      {Call: resourceURL},
	"namespace-patterns": {Call: matchNamespaces},
}

// resources are those that selectors were recorded with.
var resources = []selectors.Resource{
	{
		Group: "", Version: "v1", Plural: "pods", Kind: "Pod", Singular: "pod",
		Shortcuts: []string{"po"}, Categories: []string{"all"}, Namespaced: true, Preferred: true,
	},
	{Group: "metrics.k8s.io", Version: "v1beta1", Plural: "pods", Kind: "PodMetrics", Namespaced: true, Preferred: true},
	{Group: "", Version: "v1", Plural: "events", Kind: "Event", Namespaced: true, Preferred: true},
	{Group: "events.k8s.io", Version: "v1", Plural: "events", Kind: "Event", Namespaced: true, Preferred: true},
	{
		Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Singular: "kopfexample",
		Shortcuts: []string{"kex"}, Categories: []string{"all", "kopf"}, Namespaced: true, Preferred: true,
	},
	{
		Group: "kopf.dev", Version: "v1beta1", Plural: "kopfexamples", Kind: "KopfExample", Singular: "kopfexample",
		Shortcuts: []string{"kex"}, Categories: []string{"all", "kopf"}, Namespaced: true,
	},
	{
		Group: "other.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Singular: "kopfexample",
		Namespaced: true, Preferred: true,
	},
	{Group: "kopf.dev", Version: "v1", Plural: "globals", Kind: "Global", Preferred: true},
}

func selectResources(c Case) (any, error) {
	spec, err := selectorOf(c)
	if err != nil {
		return nil, err
	}
	selector, err := selectors.Parse(spec)
	if err != nil {
		return nil, err
	}
	selector = selector.Bind(func(r selectors.Resource) bool { return r.Group == "kopf.dev" })
	checked := slices.DeleteFunc(slices.Clone(resources), func(r selectors.Resource) bool { return !selector.Check(r) })
	selected := resourceNames(selector.Select(resources))
	slices.Sort(selected)
	return dicts.Object{
		"fields":   selectorFields(selector),
		"specific": selector.IsSpecific(),
		"check":    dicts.List(resourceNames(checked)),
		"select":   dicts.List(selected),
	}, nil
}

// selectorOf reads the arguments of a selector. A callback is a function of the
// guest, whatever it is called.
func selectorOf(c Case) (abi.Selector, error) {
	args, _ := c.In["args"].([]any)
	var spec abi.Selector
	if err := json.Unmarshal(dicts.Encode(c.In["kwargs"]), &spec); err != nil {
		return spec, err
	}
	if len(args) == 1 {
		if fn, _ := args[0].(dicts.Object); fn["$fn"] != nil {
			spec.Function = true
			return spec, nil
		}
	}
	return spec, json.Unmarshal(dicts.Encode(args), &spec.Args)
}

var selectorPart = regexp.MustCompile(`(\w+)=(?:'([^']*)'|EVERYTHING)`)

// selectorFields are the parts of a selector, as its text shows them.
func selectorFields(selector selectors.Selector) dicts.Object {
	fields := dicts.Object{}
	for _, part := range selectorPart.FindAllStringSubmatch(selector.String(), -1) {
		fields[part[1]] = part[2]
		if part[0] == part[1]+"=EVERYTHING" {
			fields[part[1]] = dicts.Object{"$": "EVERYTHING"}
		}
	}
	return fields
}

func resourceNames(list []selectors.Resource) []string {
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = r.String()
	}
	return names
}

func resourceURL(c Case) (any, error) {
	name := dicts.LookupString(c.In, "resource")
	i := slices.Index(resourceNames(resources), name)
	if i < 0 {
		return nil, fmt.Errorf("unknown resource %q", name)
	}
	path, err := resources[i].URL(dicts.LookupString(c.In, "namespace"),
		dicts.LookupString(c.In, "name"), dicts.LookupString(c.In, "subresource"))
	return string(path), err
}

func matchNamespaces(c Case) (any, error) {
	if patterns, ok := c.In["patterns"]; ok {
		return dicts.List(selectors.ParseNamespaces(stringsOf(patterns)).Exact()), nil
	}
	pattern := selectors.ParseNamespacePattern(dicts.LookupString(c.In, "pattern"))
	names := slices.DeleteFunc(stringsOf(c.In["names"]), func(name string) bool { return !pattern.Match(name) })
	return dicts.List(names), nil
}

// stringsOf reads a JSON list of strings.
func stringsOf(doc any) []string {
	list, _ := doc.([]any)
	out := make([]string, len(list))
	for i, item := range list {
		out[i], _ = item.(string)
	}
	return out
}
