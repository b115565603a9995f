// Package configuration embeds configuration into a module, in a custom section. An engine
// and the script that it runs thus form one module, which can be distributed and signed as a
// whole. The package is pure: bytes in, bytes out.
package configuration

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/host/sections"
	"github.com/kopf-wasm/kopf/internal/bounded"
)

// Section is the name of the custom section. Its content is a JSON object of strings. A
// module has at most one such section.
const Section = "dev.kopf.configuration"

// ErrMalformed says that the section cannot be read.
var ErrMalformed = errors.New("malformed configuration in the module")

// maxKeys bounds the keys of a configuration. A value may be as large as a module, because
// scripts are values.
const maxKeys = 10_000

// Read returns the configuration of a module, or nil if it has none.
//
// Errors: ErrMalformed.
func Read(wasm []byte) (map[string]string, error) {
	content, err := sections.Find(wasm, Section)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if content == nil {
		return nil, nil
	}
	if err := bounded.JSON(content, maxKeys); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	var config map[string]string
	if err := json.Unmarshal(content, &config); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return config, nil
}

// Embed returns the module with the configuration, which replaces an existing one.
//
// Errors: ErrMalformed if the input is not a module.
func Embed(wasm []byte, config map[string]string) ([]byte, error) {
	bare, err := sections.Remove(wasm, Section)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	content, err := json.Marshal(config) // sorted keys: equal configurations give equal bytes
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return sections.Append(bare, Section, content), nil
}
