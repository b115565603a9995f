package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// object is a JSON object.
type object = map[string]any

// caseFile is what the interpreter needs of a case.
type caseFile struct {
	Operator  operatorSpec            `json:"operator"`
	Operators map[string]operatorSpec `json:"operators"`
}

// operatorSpec is one operator of a case.
type operatorSpec struct {
	Handlers  []handlerSpec `json:"handlers"`
	Settings  object        `json:"settings"`
	Lifecycle string        `json:"lifecycle"`
}

// handlerSpec is one function: how it is registered, and what it does.
type handlerSpec struct {
	Name       string   `json:"name"`
	Decorators []object `json:"decorators"`
	Do         []object `json:"do"`
	Log        []string `json:"log"`
	Silent     bool     `json:"silent"`
	Sync       bool     `json:"sync"` // blocking, in the reference: it runs in a thread

	options object // of a sub-handler
}

// UnmarshalJSON also keeps the options, which sub-handlers have in addition to the script.
func (h *handlerSpec) UnmarshalJSON(data []byte) error {
	type plain handlerSpec
	if err := json.Unmarshal(data, (*plain)(h)); err != nil {
		return err
	}
	if h.Name == "" {
		h.Name = "fn"
	}
	all, err := exact(data)
	if err != nil {
		return err
	}
	h.options, _ = all.(object)
	h.Do, h.Decorators = objects(h.options["do"]), objects(h.options["decorators"])
	return nil
}

// objects are the objects of a list.
func objects(list any) []object {
	items, _ := list.([]any)
	found := make([]object, 0, len(items))
	for _, item := range items {
		if o, ok := item.(object); ok {
			found = append(found, o)
		}
	}
	return found
}

// exact decodes a value as encoding/json does, but keeps integers that are too large
// for its numbers.
func exact(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return rounded(value), err
}

func rounded(value any) any {
	switch value := value.(type) {
	case json.Number:
		const exactly = 1 << 53
		if whole, err := value.Int64(); err == nil && (whole > exactly || whole < -exactly) {
			return whole
		}
		number, _ := value.Float64() // too large: infinite
		return number
	case []any:
		for i := range value {
			value[i] = rounded(value[i])
		}
	case object:
		for key := range value {
			value[key] = rounded(value[key])
		}
	}
	return value
}

// loadOperator picks an operator of a case.
func loadOperator(text, which string) (operatorSpec, error) {
	var file caseFile
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		return operatorSpec{}, fmt.Errorf("KOPF_CASE_JSON_TEXT is not a case: %w", err)
	}
	if which == "" || which == "main" {
		return file.Operator, nil
	}
	operator, ok := file.Operators[which]
	if !ok {
		return operatorSpec{}, fmt.Errorf("KOPF_CASE_OPERATOR: the case has no operator %q", which)
	}
	return operator, nil
}

// normal is a value with the types that encoding/json gives, for comparisons.
func normal(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	out, err := exact(text)
	if err != nil {
		return nil
	}
	return out
}

// into decodes a part of a case into a type.
func into[T any](value any) (out T, err error) {
	text, err := json.Marshal(value)
	if err != nil {
		return out, err
	}
	err = json.Unmarshal(text, &out) // by itself: the order of evaluation in a return is not specified
	return out, err
}
