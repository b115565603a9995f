package calls

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// contentTypes are the formats of bodies that the API accepts, all of them JSON.
var contentTypes = []string{
	"application/json", clients.MergePatch, clients.JSONPatch,
	"application/strategic-merge-patch+json", "application/apply-patch+yaml",
}

// toKubernetes prepares a request to the API with the operator's identity. Of the guest's
// headers it takes only those about formats.
func (c *Caller) toKubernetes(call *abi.Call, body []byte) (request, error) {
	segments, query, err := parsePath(call.Path)
	if err != nil {
		return nil, err
	}
	header, err := kubernetesHeader(call.Headers)
	if err != nil {
		return nil, err
	}
	a, err := attributesOf(call.Method, segments, query)
	if err != nil {
		return nil, err
	}
	if err := c.options.Grants.allows(a, c.options.Served()); err != nil {
		return nil, err
	}
	if err := c.manage(call.Method, query); err != nil {
		return nil, err
	}
	client := c.client()
	if client == nil {
		return nil, &refusal{abi.CallNotReady, "there is no connection to Kubernetes yet: login handlers come before it, and so do startup handlers if there are login handlers"}
	}
	if len(body) > 0 && header.Get("Content-Type") == "" {
		header.Set("Content-Type", contentTypes[0])
	}
	return func(ctx context.Context) (*http.Response, error) {
		return client.Send(ctx, call.Method, a.path, query, header, body)
	}, nil
}

// manage sets the field manager of a writing request, unless the guest sets one.
func (c *Caller) manage(method string, query url.Values) error {
	const parameter = "fieldManager"
	for _, manager := range query[parameter] {
		if !clients.IsFieldManager(manager) {
			return invalid("the field manager %q must have at most 128 bytes, which are printed", shown(manager))
		}
	}
	writes := method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
	if writes && query.Get(parameter) == "" && c.options.FieldManager != "" {
		query.Set(parameter, c.options.FieldManager)
	}
	return nil
}

// kubernetesHeader returns the headers that guests may set, and rejects all others:
// headers of impersonation and of proxies carry rights.
func kubernetesHeader(headers map[string][]string) (http.Header, error) {
	result := http.Header{"Accept": {contentTypes[0]}}
	for name, values := range headers {
		name = http.CanonicalHeaderKey(name)
		switch {
		case len(values) != 1:
			return nil, invalid("the header %s has %d values instead of one", shown(name), len(values))
		case name == "Accept" && (values[0] == contentTypes[0] || strings.HasPrefix(values[0], contentTypes[0]+";")):
		case name == "Content-Type" && slices.Contains(contentTypes, values[0]):
		case name == "Accept" || name == "Content-Type":
			return nil, invalid("the header %s cannot be %q: requests to Kubernetes are in JSON", name, shown(values[0]))
		default:
			return nil, invalid("the header %s cannot be set in requests to Kubernetes", shown(name))
		}
		result.Set(name, values[0])
	}
	return result, nil
}

// AllowsEvents reports whether guests may post events in a namespace: the operator serves
// it, or a grant allows to create events there.
//
// Errors name the missing grant.
func (c *Caller) AllowsEvents(namespace string) error {
	if serves(c.options.Served(), namespace) {
		return nil
	}
	return c.options.Grants.allows(attributes{verb: "create", resource: Resource{Plural: "events"}, namespace: namespace}, c.options.Served())
}

// serves reports whether an operator serves a namespace. Only operators of the whole
// cluster serve "".
func serves(patterns []string, namespace string) bool {
	return len(patterns) == 0 || namespace != "" && selectors.ParseNamespaces(patterns).Match(namespace)
}
