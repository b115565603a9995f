package reviews

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Conversion is a request to convert objects to another version.
//
// See https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-request-and-response
type Conversion struct {
	APIVersion string // of the review
	UID        string
	Desired    string // the apiVersion that is wanted
	Objects    []json.RawMessage
}

// maxVersion is the length of the longest apiVersion: a group, a slash, and a version.
const maxVersion = 253 + 1 + 63

// DecodeConversion reads a conversion review.
//
// Errors: ErrNotObject, or an Error that says what is wrong with it.
func DecodeConversion(data []byte) (*Conversion, error) {
	var w struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Request    *struct {
			UID     string            `json:"uid"`
			Desired string            `json:"desiredAPIVersion"`
			Objects []json.RawMessage `json:"objects"`
		} `json:"request"`
	}
	if err := decodeObject(data, &w); err != nil {
		return nil, err
	}
	switch {
	case w.Kind != "ConversionReview":
		return nil, badRequest("The kind of the review is %.200q, not ConversionReview.", w.Kind)
	case w.APIVersion != "apiextensions.k8s.io/v1":
		return nil, badRequest("The version of the review is %.200q, not apiextensions.k8s.io/v1.", w.APIVersion)
	case w.Request == nil:
		return nil, badRequest("The request is missing from the review.")
	case w.Request.Desired == "":
		return nil, badRequest("The desired version is missing from the conversion request.")
	case len(w.Request.Desired) > maxVersion:
		return nil, badRequest("The desired version of the conversion request has %d bytes; at most %d are valid.", len(w.Request.Desired), maxVersion)
	}
	return &Conversion{APIVersion: w.APIVersion, UID: w.Request.UID, Desired: w.Request.Desired, Objects: w.Request.Objects}, nil
}

// Step is a conversion from one version to another one that somebody can make.
type Step struct{ From, To string }

// Path is a shortest way from one version to another one by some of the steps, as
// their positions; of several ones, that whose steps come first. There may be none.
func Path(steps []Step, from, to string) (path []int, found bool) {
	type place struct {
		version string
		path    []int
	}
	visited := map[string]bool{from: true}
	for places := []place{{from, nil}}; len(places) > 0; places = places[1:] {
		here := places[0]
		if here.version == to {
			return here.path, true
		}
		for i, step := range steps {
			if step.From == here.version && !visited[step.To] {
				visited[step.To] = true
				places = append(places, place{step.To, append(slices.Clone(here.path), i)})
			}
		}
	}
	return nil, false
}

// Describe lists steps for messages.
func Describe(steps []Step) string {
	texts := make([]string, len(steps))
	for i, step := range steps {
		texts[i] = step.From + " to " + step.To
	}
	return strings.Join(texts, ", ")
}

// Converted is an object after a step, by the rules of the API: of its metadata, only
// labels and annotations may change.
//
// Errors: the handler has given back another object.
func Converted(before, after dicts.Object, apiVersion string) (dicts.Object, error) {
	if kind := after["kind"]; kind != before["kind"] {
		return nil, fmt.Errorf("the kind has become %s", dicts.Encode(kind))
	}
	old, changed := dicts.LookupObject(before, "metadata"), dicts.LookupObject(after, "metadata")
	for _, key := range []string{"name", "namespace", "uid"} {
		if changed[key] != old[key] {
			return nil, fmt.Errorf("metadata.%s has become %s", key, dicts.Encode(changed[key]))
		}
	}
	meta := dicts.CloneObject(old)
	for _, key := range []string{"labels", "annotations"} {
		delete(meta, key)
		if value, ok := changed[key]; ok && value != nil {
			meta[key] = value
		}
	}
	after["metadata"], after["apiVersion"] = meta, apiVersion
	return after, nil
}
