package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Clone returns a copy. Changes of the copy do not affect the receiver. Storages are
// shared.
func (s *Settings) Clone() *Settings {
	own := *s // setters replace values, and never change them in place
	return &own
}

// Set changes a setting by its dotted name. The value is JSON: seconds for durations, null
// or 0 for no limit. Errors name the setting.
func (s *Settings) Set(name string, value json.RawMessage) error {
	known, ok := fields[name]
	if !ok {
		return fmt.Errorf("unknown setting %q%s", name, hint(name))
	}
	if err := known.set(s, value); err != nil {
		return fmt.Errorf("setting %q: %w", name, err)
	}
	return nil
}

// hint lists the existing settings of the group, or the groups.
func hint(name string) string {
	group, _, _ := strings.Cut(name, ".")
	var same []string
	groups := map[string]bool{}
	for _, known := range Names() {
		if strings.HasPrefix(known, group+".") {
			same = append(same, known)
		}
		of, _, _ := strings.Cut(known, ".")
		groups[of] = true
	}
	if len(same) > 0 {
		return "; known are: " + strings.Join(same, ", ")
	}
	return "; known groups are: " + strings.Join(slices.Sorted(maps.Keys(groups)), ", ")
}

// SetAll changes several settings in the order of their names. The error names all that
// could not be set.
func (s *Settings) SetAll(values map[string]json.RawMessage) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		errs = append(errs, s.Set(name, values[name]))
	}
	return OneLine(errs...)
}

// JSON returns the current values of all settings that have a JSON form, by dotted name,
// for handlers of activities. Storages made in Go are null.
func (s *Settings) JSON() (json.RawMessage, error) {
	values := map[string]any{}
	for name, field := range fields {
		if field.get != nil {
			values[name] = field.get(s)
		}
	}
	return json.Marshal(values)
}

// Names returns the names of all settings that can be set.
func Names() []string { return slices.Sorted(maps.Keys(fields)) }

// OneLine joins errors that are not nil into one error with a single line.
func OneLine(errs ...error) error {
	var joined error
	for _, err := range errs {
		switch {
		case joined == nil:
			joined = err
		case err != nil:
			joined = fmt.Errorf("%w; %w", joined, err)
		}
	}
	return joined
}
