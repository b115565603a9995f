package main

import (
	"fmt"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// configure is the startup handler that sets the settings of the case.
func (in *interpreter) configure(a *kopf.Activity) (any, error) {
	return nil, configure(a.Settings, in.settings)
}

// levels are the names of log levels.
var levels = map[string]int{"DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40}

// configure sets settings, by their dotted names.
func configure(settings *kopf.Settings, values object) error {
	for name, value := range values {
		switch name {
		case "admission.server", "admission.managed":
			continue // the administrator decides these: the runner gives them to the host
		case "persistence.progress_storage", "persistence.diffbase_storage":
			storage, err := toStorage(value)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			value = storage
		case "posting.level":
			if text, ok := value.(string); ok {
				value = levels[text]
			}
		}
		settings.Set(name, value)
	}
	return nil
}

// toStorage brings a storage of a case into the form of the host: the kind of it
// as "type", and several as a list.
func toStorage(value any) (any, error) {
	spec, ok := value.(object)
	if !ok {
		return nil, fmt.Errorf("not a storage: %v", value)
	}
	if spec["storage"] == "multi" {
		list := []any{}
		inner, _ := spec["storages"].([]any)
		for _, item := range inner {
			storage, err := toStorage(item)
			if err != nil {
				return nil, err
			}
			list = append(list, storage)
		}
		return list, nil
	}
	storage := object{}
	for key, item := range spec {
		if key == "storage" {
			key = "type"
		}
		storage[key] = item
	}
	return storage, nil
}
