// Package packages packs packages of Python for scripts: pure-Python wheels and folders become
// files of compiled code, which are embedded in a module. See docs/python.md, "Packages".
package packages

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/host/files"
	"github.com/kopf-wasm/kopf/internal/legible"
)

// The folders of files in a module, as engines/python/lib/kopf/_files.py reads them.
const (
	Script   = "script/"   // the modules of the author, as text
	Packages = "packages/" // packages, as compiled code
)

// format changes when equal sources give other files than before: it is a part of the keys of
// the cache.
const format = "1"

// sourcesFactor is the limit of sources, which are only on this machine, in relation to that
// of packed files.
const sourcesFactor = 4

// Packer packs the packages for scripts.
type Packer struct {
	// From is a folder of wheels, a folder of packages as in site-packages, a wheel, a file
	// of requirements as for pip, or a pyproject.toml. Empty: there are no packages.
	From string

	// MaxSize bounds all packed files together, in bytes. Default: host.DefaultMaxFiles.
	MaxSize int

	// CacheDir is the directory of packed packages. No other user may write to it. Empty:
	// kopf/packages in the user's cache directory. host.CacheOff disables the cache.
	// Entries that were not used for 30 days, and those beyond 1 GiB that were not used for
	// longest, are removed when an entry is added. The machine code of the engine is cached
	// in any case.
	CacheDir string

	// Note is called with a line of text about what was packed. Nil: nothing is called.
	Note func(text string)
}

// Errors of packing. They are wrapped.
var (
	// ErrNative says that packages have native code, which a sandbox cannot load.
	ErrNative = errors.New("native code")

	// ErrTooLarge says that the packages exceed the limit.
	ErrTooLarge = errors.New("the packages are too large")
)

// Files returns the files of all packages, compiled by the engine of scripts. Equal packages
// and engines give equal files. They are cached by the digests of the sources and the engine.
//
// Errors: ErrNative, ErrTooLarge.
func (p *Packer) Files(ctx context.Context, engine []byte) (map[string][]byte, error) {
	if p == nil || p.From == "" {
		return nil, nil
	}
	packed, err := p.files(ctx, engine)
	if err != nil {
		return nil, fmt.Errorf("--packages %s: %w", p.From, err)
	}
	return packed, nil
}

func (p *Packer) files(ctx context.Context, engine []byte) (map[string][]byte, error) {
	dir, err := p.cacheDir()
	if err != nil {
		return nil, err
	}
	py := &python{engine: engine}
	digest := fmt.Sprintf("%x", sha256.Sum256(engine))
	info, err := os.Stat(p.From)
	if err != nil {
		return nil, err
	}
	if info.IsDir() || strings.HasSuffix(p.From, ".whl") {
		found := newCollection(sourcesFactor * p.maxSize())
		if err := found.addPath(p.From, info.IsDir()); err != nil {
			return nil, err
		}
		return p.packed(ctx, dir, digest, py, found)
	}
	list, err := p.readList(ctx, py)
	if err != nil {
		return nil, err
	}
	if !list.fixed() {
		return p.resolved(ctx, dir, digest, py, list)
	}
	return cached(dir, key("resolved", digest, list.text), func() (map[string][]byte, error) {
		return p.resolved(ctx, dir, digest, py, list)
	})
}

// resolved packs what pip finds for a list of requirements.
func (p *Packer) resolved(ctx context.Context, dir, engine string, py *python, list *requirements) (map[string][]byte, error) {
	wheels, err := os.MkdirTemp("", "kopf-wheels-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(wheels) }() // a remainder in the temporary directory does no harm
	if err := list.download(ctx, wheels); err != nil {
		return nil, err
	}
	found := newCollection(sourcesFactor * p.maxSize())
	if err := found.addPath(wheels, true); err != nil {
		return nil, err
	}
	return p.packed(ctx, dir, engine, py, found)
}

// packed compiles what was collected, unless it is cached.
func (p *Packer) packed(ctx context.Context, dir, engine string, py *python, found *collection) (map[string][]byte, error) {
	if err := found.check(); err != nil {
		return nil, err
	}
	sources, err := files.Pack(found.files)
	if err != nil {
		return nil, err
	}
	for _, text := range found.notes {
		p.note(text)
	}
	image, err := cached(dir, key("compiled", engine, sources), func() (map[string][]byte, error) {
		p.note(fmt.Sprintf("Compiling %d files of %s (once)...", len(found.files), filepath.Base(p.From)))
		return py.compile(ctx, found.files)
	})
	if err != nil {
		return nil, err
	}
	size := 0
	for path, data := range image {
		size += 8 + len(path) + len(data)
	}
	if size > p.maxSize() {
		return nil, tooLarge(size, p.maxSize())
	}
	return image, nil
}

func tooLarge(size, limit int) error {
	return fmt.Errorf("%w: %d bytes or more; the limit MaxFiles is %d", ErrTooLarge, size, limit)
}

func (p *Packer) note(text string) {
	if p.Note != nil {
		p.Note(legible.Line(text)) // it has names of files in packages
	}
}

func (p *Packer) maxSize() int {
	if p.MaxSize > 0 {
		return p.MaxSize
	}
	return host.DefaultMaxFiles
}
