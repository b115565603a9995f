package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// Parse parses settings from a YAML or JSON document: by groups, as in {queueing:
// {worker_limit: 5}}, or by dotted names, as in {queueing.worker_limit: 5}. SetAll
// validates the values.
//
// Errors: not YAML, a duplicate key, or a group that is not a mapping.
func Parse(document []byte) (map[string]json.RawMessage, error) {
	data, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, err
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		return nil, errors.New("not a mapping of settings")
	}
	values := map[string]json.RawMessage{}
	add := func(name string, value json.RawMessage) error {
		if _, ok := values[name]; ok {
			return fmt.Errorf("the setting %q is set twice", name)
		}
		values[name] = value
		return nil
	}
	for key, value := range top {
		if strings.Contains(key, ".") {
			if err := add(key, value); err != nil {
				return nil, err
			}
			continue
		}
		var group map[string]json.RawMessage
		if err := json.Unmarshal(value, &group); err != nil {
			return nil, fmt.Errorf("%q is not a group of settings, but %.100s", key, value)
		}
		for name, value := range group {
			if err := add(key+"."+name, value); err != nil {
				return nil, err
			}
		}
	}
	return values, nil
}

// SetText changes a setting from a command line: the value is YAML, and texts need no
// quotes.
func (s *Settings) SetText(name, text string) error {
	known, ok := fields[name]
	value, err := yaml.YAMLToJSON([]byte(text))
	if err != nil && !known.bare {
		return fmt.Errorf("setting %q: %w", name, err)
	}
	if ok && known.bare {
		if value, err = json.Marshal(text); err != nil {
			return fmt.Errorf("setting %q: %w", name, err)
		}
	}
	return s.Set(name, value)
}
