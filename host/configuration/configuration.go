// Package configuration embeds configuration into a module, in a custom section. So
// an engine and the script that it runs are one module, which registries carry and people
// sign as a whole. It is pure: bytes in, bytes out.
package configuration

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/host/sections"
	"github.com/kopf-wasm/kopf/internal/bounded"
)

// Section is the name of the custom section: an object of texts, as JSON. There is at
// most one.
const Section = "dev.kopf.configuration"

// ErrMalformed is in the errors about sections that cannot be read.
var ErrMalformed = errors.New("malformed configuration in the module")

// maxKeys bounds the keys of a configuration. Values are as large as modules may be: scripts are
// among them.
const maxKeys = 10_000

// Read finds the configuration of a module; nil if it has none.
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

// Embed returns the module with the configuration, in place of the one it has, if any.
//
// Errors: ErrMalformed if it is no module.
func Embed(wasm []byte, config map[string]string) ([]byte, error) {
	bare, err := sections.Remove(wasm, Section)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	content, err := json.Marshal(config) // with sorted keys: the same is the same, byte for byte
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return sections.Append(bare, Section, content), nil
}
