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
	"github.com/kopf-wasm/kopf/host/files"
	"github.com/kopf-wasm/kopf/host/prepare"
	"github.com/kopf-wasm/kopf/host/registration"
	"github.com/kopf-wasm/kopf/host/sections"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/legible"
)

// Load creates a module from the bytes of a WebAssembly file. It refuses a file that is not
// a guest before any of its code runs. It then rewrites and compiles the code, creates the
// first instance and asks it for its registration. The name appears in messages.
//
// A module with a declaration (package declaration) must register what it declares. The
// options take precedence over the configuration that is embedded in the module (package
// configuration).
//
// Errors: they wrap ErrModule if the file is at fault, and are a GuestError if the guest
// failed to register.
func Load(ctx context.Context, name string, wasm []byte, o Options) (*Module, error) {
	m := &Module{name: name, options: o.withDefaults()}
	m.openOutput()
	m.pool = newPool(&m.options)
	if err := m.charge().Take(int64(len(wasm))); err != nil {
		return nil, m.noMemory(err)
	}
	m.charged.file = int64(len(wasm))
	if err := m.load(ctx, wasm); err != nil {
		m.discharge() // nothing, if it was freed
		return nil, err
	}
	return m, nil
}

// charge is what the operator has of the memory that it shares with others, beyond the memories of its instances.
func (m *Module) charge() *accounts.Charge { return m.options.Memories.Charge() }

// charged is what a module is charged for besides its machine, its snapshot and its instances, in bytes.
type charged struct {
	file         int64 // while it is loaded; later what is embedded in it
	registration int64
}

// discharge gives back what the module is charged for.
func (m *Module) discharge() {
	m.charge().Give(m.charged.file + m.charged.registration)
	m.charged = charged{}
}

// load is Load after the file was counted.
func (m *Module) load(ctx context.Context, wasm []byte) error {
	source, err := prepare.Parse(wasm)
	if err != nil {
		return m.refuse(err)
	}
	kind := kindOf(source)
	if err := kind.check(source); err != nil {
		return m.refuse(err)
	}
	m.kind, m.newGuest = kind.name, kind.guests(&m.options)
	m.imports, m.exports = functionsOf(source) // the source is not kept
	m.entries = map[string]uint64{}
	for i, name := range source.Entries() {
		m.entries[name] = uint64(i)
	}
	declared, err := m.declared(wasm)
	if err != nil {
		return err
	}
	if err := m.configure(wasm, declared); err != nil {
		return err
	}
	if err := m.readFiles(wasm); err != nil {
		return err
	}
	code, err := sections.Remove(wasm, declaration.Section, configuration.Section, files.Section)
	if err != nil {
		return m.refuse(err)
	}
	var codeDigest string
	m.digest, codeDigest = digestsOf(wasm, code)
	m.kept = source.Kept()
	if err := m.compile(ctx, codeDigest, source); err != nil {
		return err
	}
	if err = machines.charge(m.machine, m); err != nil {
		err = m.noMemory(err)
	} else if err = m.first(ctx); err == nil && declared != nil {
		err = m.mismatch(declared.Check(FullNames(m.imports), m.registered))
	}
	if err != nil {
		return errors.Join(err, m.discard(ctx))
	}
	m.prepared.Wasm, m.prepared.Shell, m.prepared.Canonical = nil, nil, nil // the machine code replaces them
	if m.snapshot.Load() != nil {
		m.prepared.Data = nil // only instances without a snapshot need it
		m.charge().Give(int64(len(code)))
		m.charged.file -= int64(len(code)) // the embedded configuration and files stay
	}
	return nil
}

// digestsOf returns the digest of a module and that of its code, in the form of OCI
// descriptors. It hashes the bytes once if the parts that are not code are at the end.
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

// declared reads the declaration of the module, and checks what can be checked before any
// code runs. It returns nil without a declaration.
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

// mismatch adds the module's name to an error about its declaration.
func (m *Module) mismatch(err error) error {
	if err != nil {
		return m.refuse(err)
	}
	return nil
}

// refuse returns the error of a file that is not a guest.
func (m *Module) refuse(err error) error {
	return fmt.Errorf("%s: %w: %w", m.name, ErrModule, legible.Error(err))
}

// parseRegistration parses the registration of the guest.
func (m *Module) parseRegistration() error {
	var err error
	if m.registration, err = registration.Parse(m.registered); err != nil {
		return m.refuse(err)
	}
	m.charge().Give(m.charged.registration) // of an instance that has seen too much
	m.charged.registration = 0
	size := registration.Size(m.registered, m.registration)
	if err := m.charge().Take(size); err != nil {
		return m.noMemory(err)
	}
	m.charged.registration = size
	if hosts := m.options.WantsHosts; len(hosts) > 0 {
		if m.registration.Capabilities == nil {
			m.registration.Capabilities = &abi.Capabilities{}
		}
		m.registration.Capabilities.HTTP = append(m.registration.Capabilities.HTTP, hosts...)
	}
	if m.registration.Error != "" {
		return fmt.Errorf("%s: the operator cannot register its handlers: %s", m.name, legible.Short(m.registration.Error, maxRefusal))
	}
	return nil
}

// maxRefusal bounds the quoted text of a guest that refuses its configuration, in bytes.
const maxRefusal = 2000
