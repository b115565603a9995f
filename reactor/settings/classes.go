package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Class says who may change a setting.
type Class string

// These are the classes of settings.
const (
	Guest Class = "guest" // any guest may set it: the values are harmless
	Grant Class = "grant" // guests need a grant: it opens ports, or changes the targets of requests
	Host  Class = "host"  // guests may never set it: paths, programs, executors
)

// ClassOf returns the class of a setting; false if the setting does not exist.
func ClassOf(name string) (Class, bool) {
	known, ok := fields[name]
	if ok && known.class == "" {
		return Guest, true
	}
	return known.class, ok
}

// Bounds of the JSON of a setting that a guest chooses, in bytes: lists in settings cost time at each event, and names are a part of
// each patch or Kubernetes event.
const (
	maxValue = 64 << 10
	maxText  = 512
)

// limitOf is the bound of a value.
func limitOf(value json.RawMessage) int {
	if strings.HasPrefix(strings.TrimSpace(string(value[:min(len(value), maxText)])), `"`) {
		return maxText
	}
	return maxValue
}

// SetByGuest is SetAll for a guest: it accepts settings of the class guest, and those that
// are granted by name, with values of at most 64 KiB, and texts of at most 512 bytes. Settings with parts that belong to the host record that a guest has
// set them. Pauses between requests are limited; the warnings name the settings whose
// values were changed.
//
// Errors name the setting and its class.
func (s *Settings) SetByGuest(values map[string]json.RawMessage, granted []string) (warnings []string, err error) {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		class, known := ClassOf(name)
		switch {
		case known && class == Host:
			errs = append(errs, fmt.Errorf("setting %q is of the class host: only the administrator may set it", name))
		case known && class == Grant && !slices.Contains(granted, name):
			errs = append(errs, fmt.Errorf("setting %q is of the class grant: the operator may set it only if the administrator allows it: --allow-setting %s", name, name))
		case known && len(values[name]) > limitOf(values[name]):
			errs = append(errs, fmt.Errorf("setting %q: the value has %d bytes, and an operator may choose one of at most %d", name, len(values[name]), limitOf(values[name])))
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
	return append(warnings, s.lower()...), OneLine(errs...)
}
