package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Class says who may change a setting.
type Class string

// Classes of settings.
const (
	Guest Class = "guest" // everybody: harmless values
	Grant Class = "grant" // guests only if it is granted: opens ports, or changes where requests go
	Host  Class = "host"  // never a guest: paths, programs, executors
)

// ClassOf is the class of a setting; false if there is none with the name.
func ClassOf(name string) (Class, bool) {
	known, ok := fields[name]
	if ok && known.class == "" {
		return Guest, true
	}
	return known.class, ok
}

// SetByGuest is SetAll for what a guest asks for: it may set what is harmless, and
// what is granted to it by name. Settings with parts that belong to the host
// remember where they are from. Pauses between requests are bounded; the warnings name
// the settings whose values were not taken as they were.
//
// Errors name the setting and its class.
func (s *Settings) SetByGuest(values map[string]json.RawMessage, granted []string) (warnings []string, err error) {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		class, known := ClassOf(name)
		switch {
		case known && class == Host:
			errs = append(errs, fmt.Errorf("setting %q is of the class host: only who runs the operator sets it", name))
		case known && class == Grant && !slices.Contains(granted, name):
			errs = append(errs, fmt.Errorf("setting %q is of the class grant: the operator may set it only if whoever runs it allows that: --allow-setting %s", name, name))
		default:
			errs = append(errs, s.Set(name, values[name]))
			if bound := fields[name].bound; bound != nil {
				if reason := bound(s); reason != "" {
					warnings = append(warnings, fmt.Sprintf("setting %q of a guest is bounded: %s", name, reason))
				}
			}
			s.Admission.FromGuest = s.Admission.FromGuest || name == "admission.server"
		}
	}
	return warnings, OneLine(errs...)
}

// managed is the name of webhook configurations, or null.
func managed(s *Settings, value json.RawMessage) error {
	if isNull(value) {
		s.Admission.Managed = ""
		return nil
	}
	name, err := readObjectName(value)
	if err == nil {
		s.Admission.Managed = name
	}
	return err
}

// server is checked by who makes one of it.
func server(s *Settings, value json.RawMessage) error {
	s.Admission.Server, s.Admission.FromGuest = nil, false
	if text := bytes.TrimSpace(value); string(text) != "null" {
		s.Admission.Server = append(json.RawMessage{}, text...)
	}
	return nil
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
