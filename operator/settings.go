package operator

import (
	"fmt"
	"strings"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// ReadSettings returns the defaults, overridden by the files in their order, and then by
// single settings of the form NAME=VALUE with a value in YAML.
//
// Errors name the file, the flag, and all unknown or mistyped settings.
//
// See https://docs.kopf.dev/en/latest/configuration/
func ReadSettings(files, single []string) (*settings.Settings, error) {
	s := settings.Default()
	var errs []error
	for _, path := range files {
		data, err := boundedfile.Read(path, boundedfile.MaxDocument)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		values, err := settings.Parse(data)
		if err == nil {
			err = s.SetAll(values)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
		}
	}
	for _, item := range single {
		name, value, ok := strings.Cut(item, "=")
		if !ok {
			errs = append(errs, fmt.Errorf("%q: want NAME=VALUE", item))
			continue
		}
		errs = append(errs, s.SetText(name, value))
	}
	return s, settings.OneLine(errs...)
}

// CheckGrants returns an error if a name is not that of a setting of the class grant.
func CheckGrants(names []string) error {
	for _, name := range names {
		if class, ok := settings.ClassOf(name); !ok || class != settings.Grant {
			return fmt.Errorf("%s cannot be granted: there is no setting of the class grant with this name", name)
		}
	}
	return nil
}
