// Package declaration embeds into a module what the module wants: its registration and its
// imported functions, in a custom section. Readers can see the rights of an operator without
// running it. The host compares the declaration with the actual module. The package is pure:
// bytes in, bytes out.
package declaration

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/sections"
	"github.com/kopf-wasm/kopf/internal/bounded"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Section is the name of the custom section. A module has at most one such section.
const Section = "dev.kopf.declaration"

// Version is the version of the format. Readers refuse newer ones.
const Version = 1

// Errors of declarations.
var (
	// ErrMalformed says that the section cannot be read.
	ErrMalformed = errors.New("malformed declaration")

	// ErrMismatch says that a module differs from its declaration.
	ErrMismatch = errors.New("the module is not what it declares")
)

// Declaration is the content of the section, as JSON.
type Declaration struct {
	Version int `json:"version"`

	// Dynamic says that the registration depends on the configuration. The declaration is
	// then a maximum: the module may register less.
	Dynamic bool `json:"dynamic,omitempty"`

	// Imports are the imported functions, as MODULE.NAME, sorted.
	Imports []string `json:"imports"`

	// Registration is what the module registers with an empty configuration. For a dynamic
	// module, it is the largest registration of any configuration.
	Registration json.RawMessage `json:"registration"`

	// Annotations become those of the manifest when the module is pushed.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Limits of a declaration. They apply to registrations, too.
const (
	maxSection  = 8 << 20 // bytes
	maxValues   = 200_000
	maxHandlers = 10_000
)

// Parsed returns the registration as a message.
//
// Errors: ErrMalformed.
func (d *Declaration) Parsed() (*abi.Registration, error) {
	r, err := parse(d.Registration)
	if err != nil {
		return nil, fmt.Errorf("%w: its registration: %w", ErrMalformed, err)
	}
	return r, nil
}

// parse decodes a registration as the host does: keys that differ only in case are one field to the decoder, which would merge
// the handlers of both.
func parse(text []byte) (*abi.Registration, error) {
	var d struct {
		abi.Registration
		Handlers []json.RawMessage `json:"handlers"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	if err := dicts.Unrepeated(text); err != nil {
		return nil, err
	}
	if n := len(d.Handlers); n > maxHandlers {
		return nil, fmt.Errorf("it has %d handlers; at most %d", n, maxHandlers)
	}
	for _, raw := range d.Handlers {
		var h abi.Handler
		if err := json.Unmarshal(raw, &h); err != nil {
			return nil, err
		}
		d.Registration.Handlers = append(d.Registration.Handlers, h)
	}
	return &d.Registration, nil
}

// Read returns the declaration of a module, or nil if it has none.
//
// Errors: ErrMalformed.
func Read(wasm []byte) (*Declaration, error) {
	content, err := sections.Find(wasm, Section)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if content == nil {
		return nil, nil
	}
	if len(content) > maxSection {
		return nil, fmt.Errorf("%w: it has %d bytes; at most %d", ErrMalformed, len(content), maxSection)
	}
	if err := bounded.JSON(content, maxValues); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	d := &Declaration{}
	if err := json.Unmarshal(content, d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if d.Version < 1 || d.Version > Version {
		return nil, fmt.Errorf("%w: its format has the version %d, and this host reads %d", ErrMalformed, d.Version, Version)
	}
	if _, err := d.Parsed(); err != nil {
		return nil, err
	}
	return d, nil
}

// Remove returns the module without a declaration. The result may share memory with the
// input.
//
// Errors: ErrMalformed if the input is not a module.
func Remove(wasm []byte) ([]byte, error) {
	bare, err := sections.Remove(wasm, Section)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return bare, nil
}

// Embed returns the module with the declaration, which replaces an existing one.
//
// Errors: ErrMalformed if the input is not a module.
func Embed(wasm []byte, d *Declaration) ([]byte, error) {
	bare, err := Remove(wasm)
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return sections.Append(bare, Section, content), nil
}
