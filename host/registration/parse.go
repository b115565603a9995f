// Package registration parses and validates the registrations of guests. It is pure.
//
// The registration is the only message that is parsed strictly. An unknown option may be a
// filter, and ignoring a filter would handle objects that the author excluded.
package registration

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/bounded"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// ErrRegistration wraps all errors of this package.
var ErrRegistration = errors.New("bad registration")

// document is a registration whose handlers are not decoded yet.
type document struct {
	abi.Registration
	Handlers []json.RawMessage `json:"handlers"`
}

// Limits of a registration.
const (
	maxHandlers = 10_000 // of a list
	maxValues   = 200_000
)

// Parse parses a registration. Errors name the handler and the option.
func Parse(data []byte) (*abi.Registration, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%w: it is not UTF-8", ErrRegistration)
	}
	if err := bounded.JSON(data, maxValues); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRegistration, err)
	}
	var d document
	err := json.Unmarshal(data, &d)
	if err == nil {
		err = dicts.Unrepeated(data) // readers of a declaration must not see something else
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRegistration, located(err))
	}
	r := d.Registration
	if r.Error != "" {
		return &r, nil
	}
	if err := checkLifecycle(r.Lifecycle); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRegistration, err)
	}
	if len(d.Handlers) > maxHandlers {
		return nil, fmt.Errorf("%w: %d handlers; at most %d", ErrRegistration, len(d.Handlers), maxHandlers)
	}
	for i, raw := range d.Handlers {
		h, err := parseHandler(raw, false)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrRegistration, label(i, raw), err)
		}
		r.Handlers = append(r.Handlers, *h)
	}
	if err := CheckTwins(r.Handlers); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRegistration, err)
	}
	return &r, nil
}

// ParseChildren parses the children of a step.
func ParseChildren(raws []json.RawMessage) ([]abi.Handler, error) {
	switch {
	case len(raws) == 0:
		return nil, nil
	case len(raws) > maxHandlers:
		return nil, fmt.Errorf("%w: %d children; at most %d", ErrRegistration, len(raws), maxHandlers)
	}
	children := make([]abi.Handler, 0, len(raws))
	for i, raw := range raws {
		if err := bounded.JSON(raw, maxValues); err != nil {
			return nil, fmt.Errorf("%w: child number %d: %w", ErrRegistration, i, err)
		}
		h, err := parseHandler(raw, true)
		if err != nil {
			return nil, fmt.Errorf("%w: child %s: %w", ErrRegistration, label(i, raw), err)
		}
		children = append(children, *h)
	}
	return children, nil
}

// label identifies a handler in errors, by kind and id if they can be read.
func label(position int, raw json.RawMessage) string {
	var h struct {
		Kind any `json:"kind"`
		ID   any `json:"id"`
	}
	if json.Unmarshal(raw, &h) != nil || h.ID == nil || h.ID == "" {
		return fmt.Sprintf("handler number %d", position)
	}
	if h.Kind == nil {
		return fmt.Sprintf("handler %q", h.ID)
	}
	return fmt.Sprintf("%v handler %q", h.Kind, h.ID)
}

// parseHandler parses one handler.
func parseHandler(raw json.RawMessage, child bool) (*abi.Handler, error) {
	var options map[string]json.RawMessage
	if err := json.Unmarshal(raw, &options); err != nil || options == nil {
		return nil, errors.New("it is not an object")
	}
	if err := checkOptions(options, child); err != nil {
		return nil, err
	}
	var h abi.Handler
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if err := decodeOption(&h, name, options[name]); err != nil {
			return nil, err
		}
	}
	return &h, checkHandler(&h)
}

// decodeOption decodes one option into the handler. A null value counts as absent.
func decodeOption(h *abi.Handler, name string, value json.RawMessage) error {
	if string(value) == "null" {
		return nil
	}
	single, err := json.Marshal(map[string]json.RawMessage{name: value})
	if err == nil {
		err = json.Unmarshal(single, h)
	}
	if err != nil {
		return fmt.Errorf("option %s: %w", name, withoutGoTypes(err))
	}
	return nil
}

// located names the field of a registration that has a value of another type.
func located(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) || wrong.Field == "" {
		return withoutGoTypes(err)
	}
	field := strings.TrimPrefix(wrong.Field, "Registration.") // the embedded part of the document
	return fmt.Errorf("%s: %w", field, withoutGoTypes(err))
}

// withoutGoTypes rephrases an error of the decoder without Go types, for authors of guests
// in other languages.
func withoutGoTypes(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("it does not take %s: want %s", given(wrong.Value), wanted(wrong.Type))
	}
	return err
}

// given names the JSON value that the decoder has found.
func given(value string) string {
	switch value {
	case "array":
		return "a list"
	case "object":
		return "an object"
	}
	return "a " + value
}

// wanted names the JSON values that a type takes.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "a string"
}
