package registration

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
)

// checkHandler refuses a handler whose options are known but invalid.
func checkHandler(h *abi.Handler) error {
	checks := []func(*abi.Handler) error{
		checkIdentity, checkErrors, checkNumbers, checkField, checkFilters, checkSelector, checkAdmission, checkConversion,
	}
	for _, check := range checks {
		if err := check(h); err != nil {
			return err
		}
	}
	return nil
}

// maxID is the maximum length of an id. It leaves room for prefixes and suffixes in
// annotation keys, which are cut and hashed beyond 63 characters.
const maxID = 1024

func checkIdentity(h *abi.Handler) error {
	switch {
	case h.ID == "":
		return errors.New("option id is required")
	case len(h.ID) > maxID:
		return fmt.Errorf("option id: longer than %d bytes", maxID)
	}
	return nil
}

func checkErrors(h *abi.Handler) error {
	if !slices.Contains([]string{"", "TEMPORARY", "PERMANENT", "IGNORED"}, h.Errors) {
		return fmt.Errorf("option errors: invalid value %q: must be TEMPORARY, PERMANENT or IGNORED", h.Errors)
	}
	return nil
}

// checkNumbers refuses negative times and counts.
func checkNumbers(h *abi.Handler) error {
	seconds := []struct {
		name  string
		value *float64
	}{
		{"timeout", h.Timeout},
		{"backoff", h.Backoff},
		{"interval", h.Interval},
		{"idle", h.Idle},
		{"cancellation_backoff", h.CancellationBackoff},
		{"cancellation_timeout", h.CancellationTimeout},
		{"cancellation_polling", h.CancellationPolling},
	}
	for _, s := range seconds {
		if s.value != nil && *s.value < 0 {
			return fmt.Errorf("option %s: %v seconds: must be 0 or more", s.name, *s.value)
		}
	}
	if h.Retries != nil && *h.Retries < 0 {
		return fmt.Errorf("option retries: %d: must be 0 or more", *h.Retries)
	}
	return checkInitialDelay(h.InitialDelay)
}

func checkInitialDelay(raw abi.Raw) error {
	if raw.IsNull() || markerOf(raw) == "FUNCTION" {
		return nil
	}
	var seconds float64
	if err := json.Unmarshal(raw, &seconds); err != nil || seconds < 0 {
		return fmt.Errorf("option initial_delay: %s is neither seconds nor a function", raw)
	}
	return nil
}

// Bounds of a field's path. No resource nests nearly as deeply, or has longer names. The path is a part of the id of the handler, which
// the host copies and hashes for objects.
const (
	maxField = 500     // parts
	maxPath  = 4 << 10 // bytes, with the dots in between
)

// checkField checks the options that belong to a field.
//
// See https://docs.kopf.dev/en/latest/filters/
func checkField(h *abi.Handler) error {
	value, change := !h.Value.IsNull(), !h.Old.IsNull() || !h.New.IsNull()
	switch {
	case h.Kind == abi.KindField && len(h.Field) == 0:
		return errors.New("option field is required for field handlers")
	case len(h.Field) == 0 && (value || change):
		return errors.New("options value, old and new need the option field")
	case value && change:
		return errors.New("option value cannot be combined with old or new")
	case len(h.Field) > maxField:
		return fmt.Errorf("option field: a path of %d parts; at most %d", len(h.Field), maxField)
	case len(strings.Join(h.Field, ".")) > maxPath:
		return fmt.Errorf("option field: a path of more than %d bytes", maxPath)
	case slices.Contains(h.Field, ""):
		return errors.New("option field: an empty part of the path")
	}
	return nil
}

// checkFilters checks the values of all filters.
func checkFilters(h *abi.Handler) error {
	if !h.When.IsNull() && markerOf(h.When) != "FUNCTION" {
		return errors.New("option when: it is always a function")
	}
	for name, raw := range map[string]abi.Raw{"value": h.Value, "old": h.Old, "new": h.New} {
		if err := checkFilter(raw); err != nil {
			return fmt.Errorf("option %s: %w", name, err)
		}
	}
	for name, filters := range map[string]map[string]abi.Raw{"labels": h.Labels, "annotations": h.Annotations} {
		for _, key := range slices.Sorted(maps.Keys(filters)) {
			err := checkFilter(filters[key])
			if filters[key].IsNull() {
				err = errors.New("null is not supported; use PRESENT or ABSENT")
			}
			if err != nil {
				return fmt.Errorf("option %s: %s: %w", name, key, err)
			}
		}
	}
	return nil
}

// marker is a value that stands for a filter which is not JSON.
type marker struct {
	Name  *string          `json:"$"`
	Value *json.RawMessage `json:"value"`
}

// markerOf returns the name of a marker, or an empty text for other values.
func markerOf(raw abi.Raw) string {
	var m marker
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &m) != nil || m.Name == nil {
		return ""
	}
	return *m.Name
}

// checkFilter refuses objects with the key $ that are not markers of filters.
func checkFilter(raw abi.Raw) error {
	var keys map[string]json.RawMessage
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &keys) != nil {
		return nil
	}
	if _, ok := keys["$"]; !ok {
		return nil
	}
	name := markerOf(raw)
	_, hasValue := keys["value"]
	switch {
	case name == "VALUE" && hasValue && len(keys) == 2:
		return nil
	case len(keys) == 1 && slices.Contains([]string{"PRESENT", "ABSENT", "FUNCTION"}, name):
		return nil
	}
	return fmt.Errorf("unknown marker %s", raw)
}

func checkAdmission(h *abi.Handler) error {
	for _, op := range h.Operations {
		if !slices.Contains([]string{"CREATE", "UPDATE", "DELETE", "CONNECT"}, op) {
			return fmt.Errorf("option operations: invalid value %q: must be CREATE, UPDATE, DELETE or CONNECT", op)
		}
	}
	if h.Operations != nil && len(h.Operations) == 0 {
		return errors.New("option operations: an empty list")
	}
	return nil
}

func checkConversion(h *abi.Handler) error {
	if h.Kind == abi.KindConvert && (h.From == "" || h.To == "" || h.From == h.To) {
		return errors.New("options from and to are required for convert handlers, and differ")
	}
	return nil
}
