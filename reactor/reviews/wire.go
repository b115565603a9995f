package reviews

import (
	"bytes"
	"encoding/json"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// fast decodes a review in one pass, without copies of its objects. It returns false for
// an unusual review; the slow decoder then finds the error.
func fast(data []byte) (w wire, ok bool) {
	var r wireRequest
	ok = true
	text := func(into *string, value []byte) {
		if *into = word(value); value[0] != '"' && string(value) != "null" {
			ok = false
		}
	}
	whole := dicts.Scan(data, func(parent, key string, value []byte) {
		switch {
		case parent == "" && key == "apiVersion":
			text(&w.APIVersion, value)
		case parent == "" && key == "kind":
			text(&w.Kind, value)
		case parent == "" && key == "request":
			w.Request = &r
			ok = ok && value[0] == '{'
		case parent == "request":
			ok = r.take(key, value, text) && ok
		}
	})
	return w, ok && whole
}

// word returns the text of a string. The words of most reviews need no memory.
func word(value []byte) string {
	for _, known := range words {
		if len(value) == len(known)+2 && value[0] == '"' && string(value[1:len(value)-1]) == known {
			return known
		}
	}
	return dicts.Text(value)
}

// words occur in most reviews.
var words = []string{"admission.k8s.io/v1", "AdmissionReview", "CREATE", "UPDATE", "DELETE", "v1"}

// take stores a member of the request. It returns false if the type is wrong.
func (r *wireRequest) take(key string, value []byte, text func(*string, []byte)) bool {
	switch key {
	case "uid":
		text(&r.UID, value)
	case "subResource":
		text(&r.SubResource, value)
	case "namespace":
		r.Namespace = value
	case "operation":
		text(&r.Operation, value)
	case "dryRun":
		r.DryRun = string(value) == "true"
		return r.DryRun || string(value) == "false" || string(value) == "null"
	case "userInfo":
		r.UserInfo = value
	case "object":
		r.Object = value
	case "oldObject":
		r.OldObject = value
	case "resource":
		r.Resource = &Resource{}
		return dicts.Scan(value, func(parent, key string, value []byte) {
			switch {
			case parent != "":
			case key == "group":
				text(&r.Resource.Group, value)
			case key == "version":
				text(&r.Resource.Version, value)
			case key == "resource":
				text(&r.Resource.Resource, value)
			}
		})
	}
	return true
}

// wire is the form of a review.
type wire struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Request    *wireRequest `json:"request"`
}

type wireRequest struct {
	UID         string          `json:"uid"`
	Resource    *Resource       `json:"resource"`
	SubResource string          `json:"subResource"`
	Namespace   json.RawMessage `json:"namespace"`
	Operation   string          `json:"operation"`
	DryRun      bool            `json:"dryRun"`
	UserInfo    json.RawMessage `json:"userInfo"`
	Object      json.RawMessage `json:"object"`
	OldObject   json.RawMessage `json:"oldObject"`
}

// decodeObject decodes one JSON object, and rejects data after it.
func decodeObject(data []byte, into any) error {
	if text := bytes.TrimLeft(data, " \t\r\n"); len(text) > 0 && text[0] != '{' && json.Valid(text) {
		return ErrNotObject
	}
	if err := json.Unmarshal(data, into); err != nil {
		return badRequest("The review cannot be read: %v", err)
	}
	return nil
}
