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
//
// Clients cause a search for each object of a request, and an operator can have thousands of steps, so it takes linear time.
func Path(steps []Step, from, to string) (path []int, found bool) {
	leaving := map[string][]int{} // steps by the versions that they begin with
	for i, step := range steps {
		leaving[step.From] = append(leaving[step.From], i)
	}
	const begin = -1
	reached := map[string]int{from: begin} // the steps that lead to versions
	for versions := []string{from}; len(versions) > 0; versions = versions[1:] {
		if versions[0] == to {
			for at := reached[to]; at != begin; at = reached[steps[at].From] {
				path = append(path, at)
			}
			slices.Reverse(path)
			return path, true
		}
		for _, i := range leaving[versions[0]] {
			if _, known := reached[steps[i].To]; !known {
				reached[steps[i].To] = i
				versions = append(versions, steps[i].To)
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
