// Package assets makes the files of a release: archives of the program, of the engines and of the image, the chart, the
// package of types for npm, and the list of components; and the checksums of all files, with a signature.
package assets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/scripts/release/archives"
	"github.com/kopf-wasm/kopf/scripts/release/gomodules"
	"github.com/kopf-wasm/kopf/scripts/release/image"
	"github.com/kopf-wasm/kopf/scripts/release/licences"
	"github.com/kopf-wasm/kopf/scripts/release/programs"
	"github.com/kopf-wasm/kopf/scripts/release/tree"
	"github.com/kopf-wasm/kopf/scripts/release/version"
)

// Options describe what is made.
type Options struct {
	Version version.Version
	Folder  string // of the release; it must not exist, or be empty
	Work    string // for copies and modules of others, which may be kept
	Engines string // the folder of the engines; empty: a release without engines

	// Platforms are those of the program. Images are for those of them with Linux.
	Platforms []programs.Platform

	// ImageOnly makes the image, and nothing else.
	ImageOnly bool

	// Progress is called before each step that takes long.
	Progress func(step string)
}

// release is what a run has collected.
type release struct {
	Options
	tree       *tree.Tree
	source     string
	builder    *programs.Builder
	built      map[programs.Platform]*programs.Built
	engines    map[string][]byte
	components []licences.Component
	notices    map[string][]byte
}

// Make makes the files of a release of a checkout. Seal completes it.
//
// Errors: the folder has files, an engine or a licence is missing, or a step fails.
func Make(ctx context.Context, from *tree.Tree, o Options) error {
	if existing, err := os.ReadDir(o.Folder); err == nil && len(existing) > 0 {
		return fmt.Errorf("%s has files of another release: remove it", o.Folder)
	}
	r := &release{Options: o, tree: from, source: filepath.Join(o.Work, "source"), built: map[programs.Platform]*programs.Built{}}
	if r.Progress == nil {
		r.Progress = func(string) {}
	}
	steps := []func(context.Context) error{r.prepare, r.readEngines, r.build, r.collect, r.image}
	if !o.ImageOnly {
		steps = append(steps, r.programs, r.packages, r.bom)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// prepare copies the sources, and packs the Go modules.
func (r *release) prepare(ctx context.Context) error {
	if err := errors.Join(os.RemoveAll(r.source), os.MkdirAll(r.Folder, 0o755)); err != nil {
		return err
	}
	if err := r.tree.Stage(r.source, r.Version); err != nil {
		return err
	}
	proxy := filepath.Join(r.Work, "proxy")
	if err := os.RemoveAll(proxy); err != nil {
		return err
	}
	if err := gomodules.Prepare(r.source, proxy, r.Version, r.tree.Time); err != nil {
		return err
	}
	r.builder = &programs.Builder{Version: r.Version, Repository: r.tree.Root, Proxy: proxy, Work: filepath.Join(r.Work, "go")}
	return r.builder.Prepare(ctx)
}

// engineFiles are those of the folder of engines that are released.
var engineFiles = []string{"javascript.wasm", "kopf.d.ts", "python.wasm", "python.wasm.LICENSES"}

func (r *release) readEngines(context.Context) error {
	if r.Engines == "" {
		return nil
	}
	r.engines = map[string][]byte{}
	for _, name := range engineFiles {
		text, err := os.ReadFile(filepath.Join(r.Engines, name))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: build the engines: make engines", err)
		}
		if err != nil {
			return err
		}
		r.engines[name] = text
	}
	return nil
}

func (r *release) build(ctx context.Context) error {
	for _, p := range r.Platforms {
		if r.ImageOnly && p.OS != "linux" {
			continue
		}
		r.Progress("building kopf for " + p.String())
		built, err := r.builder.Build(ctx, p)
		if err != nil {
			return err
		}
		r.built[p] = built
	}
	return nil
}

// collect finds the licences of everything that is linked.
func (r *release) collect(ctx context.Context) error {
	r.Progress("collecting licences")
	var packages []licences.Package
	for p := range r.built {
		linked, err := r.builder.Linked(ctx, r.source, p)
		if err != nil {
			return err
		}
		packages = append(packages, linked...)
	}
	root, err := r.builder.Toolchain(ctx)
	if err != nil {
		return err
	}
	packages = append(packages, licences.Package{Folder: root, Module: "std", Version: runtime.Version(), ModuleAt: root})
	found, err := licences.Go(packages)
	if err != nil {
		return err
	}
	r.components = found
	license, err := r.tree.Read("LICENSE")
	if err != nil {
		return err
	}
	r.notices = map[string][]byte{"LICENSE": license, "NOTICES": licences.Notices("Licences and notices of the Go modules that kopf "+r.Version.Tag()+" links.", found)}
	if r.engines == nil {
		return nil
	}
	return r.collectEngines(ctx)
}

// collectEngines adds the licences of the engines: crates of that of JavaScript, and what that of Python is made of.
func (r *release) collectEngines(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "cargo", "metadata", "--locked", "--format-version=1", "--filter-platform=wasm32-unknown-unknown",
		"--manifest-path", filepath.Join(r.tree.Root, "engines/javascript/Cargo.toml"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	metadata, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("cargo metadata: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	crates, err := licences.Crates(metadata)
	if err != nil {
		return err
	}
	python, err := licences.Python(string(r.engines["python.wasm.LICENSES"]))
	if err != nil {
		return err
	}
	delete(r.engines, "python.wasm.LICENSES") // its text is in the notices
	parts := append(crates, python...)
	r.components = append(r.components, parts...)
	r.engines["NOTICES"] = licences.Notices("Licences and notices of what the engines of scripts link.", parts)
	return nil
}

// image writes the image, as a folder and as one file.
func (r *release) image(context.Context) error {
	o := image.Options{
		Version: string(r.Version), Revision: r.tree.Revision, Created: r.tree.Time, Programs: map[string][]byte{}, Notices: r.notices, Engines: maps.Clone(r.engines),
	}
	for p, built := range r.built {
		if p.OS != "linux" {
			continue
		}
		text, err := os.ReadFile(built.Path)
		if err != nil {
			return err
		}
		o.Programs[p.Architecture] = text
	}
	if len(o.Programs) == 0 {
		return nil
	}
	r.Progress("writing the image")
	folder := filepath.Join(r.Folder, "image")
	if err := image.Write(folder, o); err != nil || r.ImageOnly {
		return err
	}
	entries, err := archives.Read(folder, "")
	if err != nil {
		return err
	}
	return r.write(r.name("image")+".tar", entries, archives.Tar)
}

// name is the beginning of the names of files.
func (r *release) name(of string) string { return "kopf_" + string(r.Version) + "_" + of }

// programs packs the program for each platform.
func (r *release) programs(context.Context) error {
	readme, err := r.tree.Read("README.md")
	if err != nil {
		return err
	}
	for _, p := range slices.SortedFunc(maps.Keys(r.built), func(a, b programs.Platform) int { return strings.Compare(a.String(), b.String()) }) {
		text, err := os.ReadFile(r.built[p].Path)
		if err != nil {
			return err
		}
		folder := r.name(p.OS + "_" + p.Architecture)
		entries := []archives.Entry{
			{Path: folder, Mode: fs.ModeDir | 0o755},
			{Path: folder + "/" + filepath.Base(r.built[p].Path), Content: text, Mode: 0o755},
			{Path: folder + "/README.md", Content: readme, Mode: 0o644},
		}
		for name, text := range r.notices {
			entries = append(entries, archives.Entry{Path: folder + "/" + name, Content: text, Mode: 0o644})
		}
		ending, write := ".tar.gz", archives.TarGzip
		if p.OS == "windows" {
			ending, write = ".zip", archives.Zip
		}
		if err := r.write(folder+ending, entries, write); err != nil {
			return err
		}
	}
	return nil
}
