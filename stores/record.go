package stores

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Record is the stored progress of one handler. Nil fields are absent.
//
// Kopf: kopf.ProgressRecord.
type Record struct {
	Started *string  // time of the first call, see FormatTime
	Stopped *string  // time of the success or of the permanent failure
	Delayed *string  // time of the next call
	Purpose *string  // the reason of the cause it was called for, such as "create"
	Retries *int     // attempts so far
	Success *bool    // the handler has succeeded and will not be called again
	Failure *bool    // the handler has failed and will not be called again
	Message *string  // the last error
	Subrefs []string // ids of its sub-handlers of all levels, sorted
}

// members lists the fields in the order in which Kopf writes them.
func (r Record) members() dicts.Members {
	var subrefs any
	if r.Subrefs != nil {
		subrefs = dicts.List(r.Subrefs)
	}
	return dicts.Members{
		{Key: "started", Value: valueOf(r.Started)},
		{Key: "stopped", Value: valueOf(r.Stopped)},
		{Key: "delayed", Value: valueOf(r.Delayed)},
		{Key: "purpose", Value: valueOf(r.Purpose)},
		{Key: "retries", Value: valueOf(r.Retries)},
		{Key: "success", Value: valueOf(r.Success)},
		{Key: "failure", Value: valueOf(r.Failure)},
		{Key: "message", Value: valueOf(r.Message)},
		{Key: "subrefs", Value: subrefs},
	}
}

// valueOf returns the JSON value of an optional field.
func valueOf[T any](field *T) any {
	if field == nil {
		return nil
	}
	return *field
}

// Encode encodes the record as the JSON of an annotation. Absent fields are omitted, or null
// if verbose.
func (r Record) Encode(verbose bool) string {
	var kept dicts.Members
	for _, member := range r.members() {
		if verbose || member.Value != nil {
			kept = append(kept, member)
		}
	}
	return string(dicts.Encode(kept))
}

// Object returns the record as a JSON object with nulls for absent fields.
func (r Record) Object() Object {
	obj := Object{}
	for _, member := range r.members() {
		obj[member.Key] = member.Value
	}
	return obj
}

// DecodeRecord decodes a record from a JSON document. Null fields are absent, and unknown
// fields are ignored. Fields of other types than Kopf writes mean what they mean in Python:
// any value is a flag, and a number with a fraction is a count. Errors name the invalid fields.
func DecodeRecord(doc any) (*Record, error) {
	obj, ok := doc.(Object)
	if !ok {
		return nil, errors.New("a record must be an object")
	}
	var r Record
	errs := []error{
		decodeTime(obj, "started", &r.Started),
		decodeTime(obj, "stopped", &r.Stopped),
		decodeTime(obj, "delayed", &r.Delayed),
		decodeText(obj, "purpose", &r.Purpose),
		decodeRetries(obj, &r.Retries),
		decodeText(obj, "message", &r.Message),
		decodeSubrefs(obj, &r.Subrefs),
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	r.Success, r.Failure = flagOf(obj["success"]), flagOf(obj["failure"])
	return &r, nil
}

// flagOf returns the truth of a value in Python, or nil for an absent one.
func flagOf(value any) *bool {
	if value == nil {
		return nil
	}
	truth := true
	switch typed := value.(type) {
	case bool:
		truth = typed
	case string:
		truth = typed != ""
	case json.Number:
		number, err := typed.Float64()
		truth = number != 0 || err != nil
	case []any:
		truth = len(typed) > 0
	case Object:
		truth = len(typed) > 0
	}
	return &truth
}

// decodeText accepts numbers and flags, as their JSON.
func decodeText(obj Object, key string, field **string) error {
	switch value := obj[key].(type) {
	case bool, json.Number:
		text := string(dicts.Encode(value))
		*field = &text
		return nil
	}
	return decodeField(obj, key, field)
}

func decodeField[T any](obj Object, key string, field **T) error {
	value := obj[key]
	if value == nil {
		return nil
	}
	typed, ok := value.(T)
	if !ok {
		return fmt.Errorf("%s: %s is not of the type %T", key, dicts.Encode(value), typed)
	}
	*field = &typed
	return nil
}

func decodeTime(obj Object, key string, field **string) error {
	if err := decodeField(obj, key, field); err != nil || *field == nil {
		return err
	}
	if _, _, err := ParseTime(**field); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

func decodeRetries(obj Object, field **int) error {
	value := obj["retries"]
	if value == nil {
		return nil
	}
	n := 0
	switch typed := value.(type) {
	case bool:
		if typed {
			n = 1
		}
	case json.Number:
		number, err := typed.Float64()
		if err != nil || math.Abs(number) > math.MaxInt32 {
			return fmt.Errorf("retries: %s is not a possible count", dicts.Encode(value))
		}
		n = int(number)
	default:
		return fmt.Errorf("retries: %s is not a number", dicts.Encode(value))
	}
	*field = &n
	return nil
}

func decodeSubrefs(obj Object, field *[]string) error {
	value := obj["subrefs"]
	if value == nil {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		return fmt.Errorf("subrefs: %s is not a list", dicts.Encode(value))
	}
	subrefs := make([]string, len(list))
	for i, item := range list {
		if subrefs[i], ok = item.(string); !ok {
			return fmt.Errorf("subrefs: %s is not a string", dicts.Encode(item))
		}
	}
	*field = subrefs
	return nil
}
