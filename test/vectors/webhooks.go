package vectors

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/patches"
	"github.com/kopf-wasm/kopf/webhooks"
)

var webhookFunctions = map[string]Function{
	"admission-names":            {Call: nameWebhook},
	"admission-client-configs":   {Call: configureClient},
	"admission-object-selectors": {Call: selectByLabels},
	"admission-responses":        {Call: respond, Equal: sameResponse},
}

func nameWebhook(c Case) (any, error) {
	return webhooks.Name(dicts.LookupString(c.In, "id"), dicts.LookupString(c.In, "suffix")), nil
}

func configureClient(c Case) (any, error) {
	config := dicts.CloneObject(dicts.LookupObject(c.In, "config"))
	if path, ok := dicts.Lookup(config, "service", "path"); ok && path == nil {
		if err := dicts.Ensure(config, dicts.Path{"service", "path"}, "None"); err != nil { // as Python writes it
			return nil, err
		}
	}
	var parsed webhooks.ClientConfig
	if err := json.Unmarshal(dicts.Encode(config), &parsed); err != nil {
		return nil, err
	}
	text, err := json.Marshal(parsed.For(dicts.LookupString(c.In, "id")))
	if err != nil {
		return nil, err
	}
	return dicts.Decode(text)
}

func selectByLabels(c Case) (any, error) {
	labels := map[string]abi.Raw{}
	for key, value := range dicts.LookupObject(c.In, "labels") {
		raw := abi.Raw(dicts.Encode(value))
		if _, isFunction := dicts.Lookup(value, "$fn"); isFunction {
			raw = abi.Raw(abi.Function)
		}
		labels[key] = raw
	}
	selector, err := webhooks.LabelSelector(labels)
	if selector == nil || err != nil {
		return nil, err
	}
	return selector, nil
}

// pythonError is an error as the recordings show it: ValueError('ve', code=None).
var pythonError = regexp.MustCompile(`^(\w+)\('(.*)', code=(\w+)\)$`)

var errorKinds = map[string]abi.ErrorKind{
	"AdmissionError": abi.ErrorAdmission, "PermanentError": abi.ErrorPermanent, "TemporaryError": abi.ErrorTemporary,
}

func respond(c Case) (any, error) {
	var failures []*abi.Error
	list, _ := c.In["errors"].([]any)
	for _, item := range list {
		if item == nil {
			continue
		}
		parts := pythonError.FindStringSubmatch(fmt.Sprint(item))
		if parts == nil {
			return nil, fmt.Errorf("unknown error %v", item)
		}
		code, _ := strconv.Atoi(parts[3]) // None is no code
		kind := errorKinds[parts[1]]
		failures = append(failures, &abi.Error{Kind: kind, Type: parts[1], Message: parts[2], Code: code})
	}
	var warnings []string
	shown, _ := c.In["warnings"].([]any)
	for _, item := range shown {
		warnings = append(warnings, fmt.Sprint(item))
	}
	var patch []patches.Operation
	operations, _ := c.In["patch"].([]any)
	for _, item := range operations {
		patch = append(patch, patches.Operation{
			Op: patches.Op(dicts.LookupString(item, "op")), Path: dicts.LookupString(item, "path"), Value: item.(dicts.Object)["value"],
		})
	}
	request := webhooks.Request{UID: "uid1"}
	if given, ok := c.In["request"].(dicts.Object); ok {
		request = webhooks.Request{
			APIVersion: dicts.LookupString(given, "apiVersion"), Kind: dicts.LookupString(given, "kind"),
			UID: dicts.LookupString(given, "request", "uid"),
		}
	}
	text, err := webhooks.Respond(request, failures, warnings, patch)
	if err != nil {
		return nil, err
	}
	return dicts.Decode(text)
}

// sameResponse compares patches by what they say: spaces in them mean nothing.
func sameResponse(c Case, got any) bool {
	return sameJSON(readable(c.Out), readable(got))
}

func readable(review any) any {
	object, _ := dicts.Clone(review).(dicts.Object)
	raw, err := base64.StdEncoding.DecodeString(dicts.LookupString(object, "response", "patch"))
	if err != nil || len(raw) == 0 {
		return object
	}
	patch, err := dicts.Decode(raw)
	if err == nil {
		err = dicts.Ensure(object, dicts.Path{"response", "patch"}, patch)
	}
	if err != nil {
		return nil
	}
	return object
}
