// Package declaration embeds into a module what the module wants: its registration
// and the functions that it imports, in a custom section. So everybody can see
// the rights of an operator without running it; and whoever runs it compares what was declared
// with what is true. It is pure: bytes in, bytes out.
package declaration

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/sections"
	"github.com/kopf-wasm/kopf/internal/bounded"
)

// Section is the name of the custom section. There is at most one.
const Section = "dev.kopf.declaration"

// Version is the version of the format. Readers refuse newer ones.
const Version = 1

// Errors of declarations.
var (
	// ErrMalformed is in the errors about sections that cannot be read.
	ErrMalformed = errors.New("malformed declaration")

	// ErrMismatch is in the errors about modules that are not what they declare.
	ErrMismatch = errors.New("the module is not what it declares")
)

// Declaration is the content of the section, as JSON.
type Declaration struct {
	Version int `json:"version"`

	// Dynamic says that the registration depends on the configuration. What is
	// declared are maxima then: the module may register less.
	Dynamic bool `json:"dynamic,omitempty"`

	// Imports are the imported functions, as MODULE.NAME, sorted.
	Imports []string `json:"imports"`

	// Registration is what the module registers with an empty configuration, or, if
	// it is dynamic, with one for which it registers the most.
	Registration json.RawMessage `json:"registration"`

	// Annotations become those of the manifest when the module is pushed.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Bounds of a declaration. A registration is not larger either.
const (
	maxSection  = 8 << 20 // bytes
	maxValues   = 200_000
	maxHandlers = 10_000
)

// Parsed is the registration as a message.
//
// Errors: ErrMalformed.
func (d *Declaration) Parsed() (*abi.Registration, error) {
	var list struct {
		Handlers []json.RawMessage `json:"handlers"`
	}
	if err := json.Unmarshal(d.Registration, &list); err != nil {
		return nil, fmt.Errorf("%w: its registration: %w", ErrMalformed, err)
	}
	if n := len(list.Handlers); n > maxHandlers {
		return nil, fmt.Errorf("%w: its registration has %d handlers; at most %d", ErrMalformed, n, maxHandlers)
	}
	r := &abi.Registration{}
	if err := json.Unmarshal(d.Registration, r); err != nil {
		return nil, fmt.Errorf("%w: its registration: %w", ErrMalformed, err)
	}
	return r, nil
}

// Read finds the declaration of a module; nil if it has none.
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

// Remove returns the module without a declaration. It may be a part of the same memory.
//
// Errors: ErrMalformed if it is no module.
func Remove(wasm []byte) ([]byte, error) {
	bare, err := sections.Remove(wasm, Section)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return bare, nil
}

// Embed returns the module with the declaration, in place of the one it has, if
// any.
//
// Errors: ErrMalformed if it is no module.
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
