package declaration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
)

// Check compares the declaration with the imported functions and with the registration. For
// a dynamic module, both may be less than declared.
//
// Errors: ErrMismatch, ErrMalformed.
func (d *Declaration) Check(imports []string, registered []byte) error {
	if err := d.CheckImports(imports); err != nil {
		return err
	}
	if d.Dynamic {
		r, err := parse(registered)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		return d.within(r)
	}
	same, err := equal(d.Registration, registered)
	switch {
	case err != nil:
		return err
	case !same:
		return fmt.Errorf("%w: its registration differs (run kopf annotate to declare the current one, with --dynamic if it depends on the configuration)", ErrMismatch)
	}
	return nil
}

// CheckImports compares only the imported functions, which needs no code to run.
//
// Errors: ErrMismatch.
func (d *Declaration) CheckImports(imports []string) error {
	if extra := without(imports, d.Imports); extra != nil {
		return fmt.Errorf("%w: it imports %s", ErrMismatch, strings.Join(extra, ", "))
	}
	if missing := without(d.Imports, imports); missing != nil {
		return fmt.Errorf("%w: it does not import %s", ErrMismatch, strings.Join(missing, ", "))
	}
	return nil
}

// within checks that a registration stays below the declared one.
func (d *Declaration) within(r *abi.Registration) error {
	declared, err := d.Parsed()
	if err != nil {
		return err
	}
	if more := More(declared, r); len(more) > 0 {
		return fmt.Errorf("%w: it wants more: %s", ErrMismatch, strings.Join(more, "; "))
	}
	return nil
}

// without lists the items that the other list lacks, or nil.
func without(list, other []string) []string {
	known := make(map[string]bool, len(other))
	for _, item := range other {
		known[item] = true
	}
	var found []string
	for _, item := range list {
		if !known[item] {
			found = append(found, item)
		}
	}
	return found
}

// equal compares two documents, without regard to spaces and the order of keys.
func equal(a, b []byte) (bool, error) {
	var canonical [2][]byte
	for i, document := range [][]byte{a, b} {
		decoder := json.NewDecoder(bytes.NewReader(document))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil {
			return false, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		var err error
		if canonical[i], err = json.Marshal(value); err != nil {
			return false, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	}
	return bytes.Equal(canonical[0], canonical[1]), nil
}
