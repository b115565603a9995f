package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/configuration"
	"github.com/kopf-wasm/kopf/host/declaration"
	"github.com/kopf-wasm/kopf/host/prepare"
	"github.com/kopf-wasm/kopf/host/registration"
	"github.com/kopf-wasm/kopf/host/sections"
	"github.com/kopf-wasm/kopf/internal/legible"
)

// Load makes a module out of the bytes of a WebAssembly file: it refuses what is
// no guest before any code of it runs, rewrites and compiles it, makes the first
// instance and asks it for its registration. The name is for messages.
//
// A module that declares what it registers (package declaration) must do so. What it is
// configured with by itself (package configuration) comes below the options.
//
// Errors: they wrap ErrModule if the file is to blame, and are a GuestError if
// the guest failed to register.
func Load(ctx context.Context, name string, wasm []byte, o Options) (*Module, error) {
	m := &Module{name: name, options: o.withDefaults()}
	m.openOutput()
	m.pool = newPool(&m.options)
	source, err := prepare.Parse(wasm)
	if err != nil {
		return nil, m.refuse(err)
	}
	if err := checkContract(source); err != nil {
		return nil, m.refuse(err)
	}
	m.plugin = isPlugin(source)
	m.imports, m.exports = functionsOf(source) // the source is not kept
	m.entries = map[string]uint64{}
	for i, name := range source.Entries() {
		m.entries[name] = uint64(i)
	}
	declared, err := m.declared(wasm)
	if err != nil {
		return nil, err
	}
	if err := m.configure(wasm, declared); err != nil {
		return nil, err
	}
	code, err := sections.Remove(wasm, declaration.Section, configuration.Section)
	if err != nil {
		return nil, m.refuse(err)
	}
	var codeDigest string
	m.digest, codeDigest = digestsOf(wasm, code)
	if err := m.compile(ctx, codeDigest, source); err != nil {
		return nil, err
	}
	if err = m.first(ctx); err == nil && declared != nil {
		err = m.mismatch(declared.Check(FullNames(m.imports), m.registered))
	}
	if err != nil {
		return nil, errors.Join(err, m.free(ctx))
	}
	m.prepared.Wasm, m.prepared.Shell, m.prepared.Canonical = nil, nil, nil // there is machine code
	if m.snapshot.Load() != nil {
		m.prepared.Data = nil // only of instances that begin from the beginning
	}
	return m, nil
}

// digestsOf identifies a module, and what of it is code, as in OCI descriptors. It looks at
// all once, if what is no code is at the end.
func digestsOf(wasm, code []byte) (whole, ofCode string) {
	text := func(h hash.Hash) string { return "sha256:" + hex.EncodeToString(h.Sum(nil)) }
	h := sha256.New()
	h.Write(code)
	ofCode = text(h)
	if bytes.HasPrefix(wasm, code) {
		h.Write(wasm[len(code):])
	} else {
		h.Reset()
		h.Write(wasm)
	}
	return text(h), ofCode
}

// declared reads what the module declares, and compares what can be compared
// before any code of it runs; nil if it declares nothing.
func (m *Module) declared(wasm []byte) (*declaration.Declaration, error) {
	d, err := declaration.Read(wasm)
	if err != nil {
		return nil, m.refuse(err)
	}
	if d != nil {
		err = m.mismatch(d.CheckImports(FullNames(m.imports)))
	}
	return d, err
}

// mismatch names the module that is not what it declares.
func (m *Module) mismatch(err error) error {
	if err != nil {
		return m.refuse(err)
	}
	return nil
}

// refuse is the error of a file that is no guest.
func (m *Module) refuse(err error) error {
	return fmt.Errorf("%s: %w: %w", m.name, ErrModule, legible.Error(err))
}

// parseRegistration reads what the guest has registered.
func (m *Module) parseRegistration() error {
	var err error
	if m.registration, err = registration.Parse(m.registered); err != nil {
		return m.refuse(err)
	}
	if hosts := m.options.WantsHosts; len(hosts) > 0 {
		if m.registration.Capabilities == nil {
			m.registration.Capabilities = &abi.Capabilities{}
		}
		m.registration.Capabilities.HTTP = append(m.registration.Capabilities.HTTP, hosts...)
	}
	if m.registration.Error != "" {
		return fmt.Errorf("%s: the guest refuses its configuration: %s", m.name, legible.Short(m.registration.Error, maxRefusal))
	}
	return nil
}

// maxRefusal bounds what is shown of the text of a guest that refuses its configuration, in bytes.
const maxRefusal = 2000
