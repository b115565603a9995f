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
	APIVersion string // apiVersion of the review
	UID        string
	Desired    string          // the wanted apiVersion
	Objects    json.RawMessage // a list; nil: no objects
}

// maxVersion is the maximum length of an apiVersion: a group, a slash, and a version.
const maxVersion = 253 + 1 + 63

// DecodeConversion decodes a conversion review.
//
// Errors: ErrNotObject, or an Error that says what is wrong with it.
func DecodeConversion(data []byte) (*Conversion, error) {
	var w struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Request    *struct {
			UID     string          `json:"uid"`
			Desired string          `json:"desiredAPIVersion"`
			Objects json.RawMessage `json:"objects"`
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
	objects := unlessNull(w.Request.Objects)
	if objects != nil && objects[0] != '[' {
		return nil, badRequest("The objects of the conversion request are not a list.")
	}
	return &Conversion{APIVersion: w.APIVersion, UID: w.Request.UID, Desired: w.Request.Desired, Objects: objects}, nil
}

// Step is a conversion from one version to another for which a handler exists.
type Step struct{ From, To string }

// Path returns a shortest path from one version to another, as indices of steps. Among
// several, it returns the one with the earliest steps. It returns false if no path exists.
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

// Describe formats steps for messages.
func Describe(steps []Step) string {
	texts := make([]string, len(steps))
	for i, step := range steps {
		texts[i] = step.From + " to " + step.To
	}
	return strings.Join(texts, ", ")
}

// Converted returns an object after a step, with the metadata that the API requires: a
// conversion may change only labels and annotations.
//
// Errors: the handler has returned another object.
func Converted(before, after dicts.Object, apiVersion string) (dicts.Object, error) {
	if kind := after["kind"]; !dicts.Equal(kind, before["kind"]) {
		return nil, fmt.Errorf("the kind has become %s", dicts.Encode(kind))
	}
	old, changed := dicts.LookupObject(before, "metadata"), dicts.LookupObject(after, "metadata")
	for _, key := range []string{"name", "namespace", "uid"} {
		if !dicts.Equal(changed[key], old[key]) { // clients choose the values: a comparison of objects by Go's operator panics
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
