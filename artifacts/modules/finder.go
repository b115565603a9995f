// Package modules finds the modules of an operator by name: files, and artifacts of
// registries. A local store keeps artifacts by digest.
package modules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/store"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
	"github.com/kopf-wasm/kopf/internal/private"
)

// When says when to ask a registry about an artifact that is in the store.
type When string

// A reference by digest is fetched only once, because its content cannot change.
const (
	Always  When = "always"  // at each use, because a tag may have moved. The default
	Missing When = "missing" // if the reference is not in the store
	Never   When = "never"   // not at all
)

// Finder finds modules.
type Finder struct {
	Client *oci.Client
	Store  *store.Store // nil: artifacts are not stored
	Pull   When         // empty: Always
	Warn   func(text string)

	// Verify accepts or refuses an artifact by its digest, before more than its manifest is
	// fetched. With Verify, files are refused. Nil accepts everything.
	Verify func(ctx context.Context, r oci.Reference) error

	// Reserve is called with the size of a module, in bytes, before the module is fetched. It
	// may wait. Its error is the error of the fetch. Nil reserves nothing. While it waits, and in
	// Found, the manifest has no more than oci.Manifest.Lean.
	Reserve func(ctx context.Context, size int64) error
}

// ErrFile says that a file was given where only verified artifacts are allowed.
var ErrFile = errors.New("a file cannot be verified, only an artifact (oci://…)")

// Found is a module that was found by its name.
type Found struct {
	Name     string        // for messages: a file's base name, or a reference with the digest
	Manifest *oci.Manifest // nil for files
	Module   []byte
}

// Open reads a module from a file or, if the name begins with oci://, from the store or a
// registry.
func (f *Finder) Open(ctx context.Context, name string) (*Found, error) {
	if !oci.IsReference(name) {
		if f.Verify != nil {
			return nil, fmt.Errorf("%s: %w", name, ErrFile)
		}
		data, err := boundedfile.Read(name, boundedfile.MaxModule)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w%s", err, meant(name))
		}
		if err != nil {
			if info, failed := os.Stat(name); failed == nil && info.IsDir() {
				return nil, fmt.Errorf("%s: it is a folder: name a module or a script in it; kopf build makes a module of a folder with sources", name)
			}
			return nil, err
		}
		return &Found{Name: filepath.Base(name), Module: data}, nil
	}
	r, err := oci.Parse(name)
	if err != nil {
		return nil, err
	}
	return f.Fetch(ctx, r)
}

// meant returns a hint for a name of a missing file that looks like a reference or like a module
// that is not built, or an empty text.
func meant(name string) string {
	scheme, rest, ok := strings.Cut(name, ":/")
	switch {
	case ok && scheme != "oci":
		return ": only files and artifacts (oci://…) are run: download it first"
	case ok:
		name = strings.TrimLeft(rest, "/")
	}
	r, err := oci.Parse(name)
	if err != nil || !strings.ContainsAny(r.Registry, ".:") && r.Registry != "localhost" {
		if filepath.Ext(name) == ".wasm" {
			return ": build it by kopf build"
		}
		return ""
	}
	return ": is it an artifact? " + r.String()
}

// Fetch reads a module from the store, and fetches missing or corrupted parts from the
// registry. It checks and stores all parts.
func (f *Finder) Fetch(ctx context.Context, r oci.Reference) (*Found, error) {
	done, err := f.share()
	if err != nil {
		return nil, err
	}
	defer done()
	m, err := f.manifest(ctx, r)
	if err != nil {
		return nil, err
	}
	if f.Verify != nil {
		if err := f.Verify(ctx, m.Reference); err != nil {
			return nil, err
		}
	}
	if err := f.config(ctx, m); err != nil {
		return nil, err
	}
	raw := m.Raw
	if f.Store == nil {
		raw = nil
	}
	if f.Reserve != nil {
		m = m.Lean()
		if err := f.Reserve(ctx, m.Module.Size); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Reference, err)
		}
	}
	module, err := f.layer(ctx, m)
	if err != nil {
		return nil, err
	}
	if f.Store != nil && f.Pull != Never { // otherwise the store has it, and may be one that can only be read
		if err := f.keep(r, m, raw); err != nil {
			return nil, err
		}
	}
	return &Found{Name: m.Reference.String(), Manifest: m, Module: module}, nil
}

// keep stores the reference together with its digest. It writes nothing that the store has.
func (f *Finder) keep(r oci.Reference, m *oci.Manifest, raw []byte) error {
	entry := store.Entry{Name: r.Name(), Digest: m.Reference.Digest, Size: m.Module.Size, Pulled: time.Now().UTC().Truncate(time.Second)}
	if _, err := f.Store.Get(entry.Digest); err != nil {
		if _, err := f.Store.Put(raw); err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
	}
	if known, err := f.Store.Find(entry.Name); err == nil && known.Digest == entry.Digest {
		return nil
	}
	return f.Store.Set(entry)
}

func (f *Finder) share() (func(), error) {
	if f.Store == nil {
		return func() {}, nil
	}
	return f.Store.Share()
}

// manifest returns the manifest, from the store if the reference allows it.
func (f *Finder) manifest(ctx context.Context, r oci.Reference) (*oci.Manifest, error) {
	digest, err := f.known(r)
	if err != nil {
		return nil, err
	}
	if f.Store != nil && digest != "" {
		raw, err := f.stored(r, digest)
		if err != nil {
			return nil, err
		}
		if raw != nil {
			return oci.Stored(r, raw)
		}
	}
	if f.Pull == Never {
		return nil, notPulled(r, store.ErrAbsent)
	}
	if digest != "" {
		r.Digest = digest
	}
	return f.Client.Manifest(ctx, r)
}

// Resolve returns the digest of a reference.
//
// Errors: store.ErrAbsent, store.ErrCorrupted, and those of the registry.
func (f *Finder) Resolve(ctx context.Context, r oci.Reference) (string, error) {
	digest, err := f.known(r)
	switch {
	case err != nil || digest != "":
		return digest, err
	case f.Pull == Never:
		return "", notPulled(r, store.ErrAbsent)
	}
	return f.Client.Resolve(ctx, r)
}

// known returns the digest of a reference without asking the registry. It is empty if the
// registry has to be asked.
func (f *Finder) known(r oci.Reference) (string, error) {
	if r.Digest != "" || f.Store == nil || f.Pull == Always || f.Pull == "" {
		return r.Digest, nil
	}
	entry, err := f.Store.Find(r.Name())
	switch {
	case err == nil:
		return entry.Digest, nil
	case f.Pull == Never:
		return "", notPulled(r, err)
	case broken(err):
		f.warn(err)
	case !errors.Is(err, store.ErrAbsent):
		return "", err
	}
	return "", nil
}

// notPulled adds advice to an error about content that the store lacks or has corrupted.
func notPulled(r oci.Reference, err error) error {
	return fmt.Errorf("%s: %w, and pulling is off: run kopf pull %[1]s, or kopf load with an archive", r, err)
}

// broken reports whether the store has the content in a state that cannot be trusted.
func broken(err error) bool {
	return errors.Is(err, store.ErrCorrupted) || errors.Is(err, private.ErrShared)
}

// warn logs that corrupted content of the store is fetched again.
func (f *Finder) warn(err error) {
	if f.Warn != nil {
		f.Warn(err.Error() + "; it is fetched again")
	}
}

// stored reads content from the store. It returns nil if the content has to be fetched.
//
// Errors: without a registry, store.ErrAbsent and store.ErrCorrupted.
func (f *Finder) stored(r oci.Reference, digest string) ([]byte, error) {
	content, err := f.Store.Get(digest)
	switch {
	case err == nil:
		return content, nil
	case f.Pull == Never:
		return nil, notPulled(r, err)
	case broken(err):
		f.warn(err)
		return nil, nil
	case errors.Is(err, store.ErrAbsent):
		return nil, nil
	}
	return nil, fmt.Errorf("%s: %w", r, err)
}

// config checks the module against the config of its artifact.
func (f *Finder) config(ctx context.Context, m *oci.Manifest) error {
	_, err := f.part(m, m.Parsed.Config, m.CheckConfig, func() ([]byte, error) { return f.Client.Config(ctx, m) })
	return err
}

// layer reads the module.
func (f *Finder) layer(ctx context.Context, m *oci.Manifest) ([]byte, error) {
	return f.part(m, m.Module, m.CheckModule, func() ([]byte, error) { return f.Client.Layer(ctx, m) })
}

// part returns a part of an artifact from the store, or fetches and stores it. The part
// always has the size that the manifest announces.
func (f *Finder) part(m *oci.Manifest, d layout.Descriptor, check func([]byte) error, fetch func() ([]byte, error)) ([]byte, error) {
	if f.Store != nil {
		content, err := f.stored(m.Reference, d.Digest)
		if err != nil {
			return nil, err
		}
		if content != nil {
			if err := d.CheckSize(content); err != nil {
				return nil, fmt.Errorf("%s: %w: %w", m.Reference, oci.ErrTampered, err)
			}
			return content, check(content)
		}
	}
	if f.Pull == Never {
		return nil, notPulled(m.Reference, fmt.Errorf("%s: %w", d.Digest, store.ErrAbsent))
	}
	content, err := fetch()
	if err != nil || f.Store == nil {
		return content, err
	}
	if _, err := f.Store.Put(content); err != nil {
		return nil, fmt.Errorf("%s: %w", m.Reference, err)
	}
	return content, nil
}
