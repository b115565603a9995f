package assets

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/kopf-wasm/kopf/scripts/release/archives"
	"github.com/kopf-wasm/kopf/scripts/release/bom"
	"github.com/kopf-wasm/kopf/scripts/release/gomodules"
)

// format is a function of package archives.
type format func(io.Writer, []archives.Entry, time.Time) error

// write writes an archive of the release.
func (r *release) write(name string, entries []archives.Entry, as format) error {
	var packed bytes.Buffer
	if err := as(&packed, entries, r.tree.Time); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(filepath.Join(r.Folder, name), packed.Bytes(), 0o644)
}

// packages packs the engines, the chart and the types for JavaScript.
func (r *release) packages(context.Context) error {
	if r.engines != nil {
		folder := r.name("engines")
		entries := []archives.Entry{{Path: folder, Mode: fs.ModeDir | 0o755}}
		for name, text := range r.engines {
			entries = append(entries, archives.Entry{Path: folder + "/" + name, Content: text, Mode: 0o644})
		}
		if err := r.write(folder+".tar.gz", entries, archives.TarGzip); err != nil {
			return err
		}
	}
	if err := r.pack("charts/kopf", "kopf/", "kopf-"+string(r.Version)+".tgz"); err != nil {
		return err
	}
	return r.pack("guest-sdks/javascript", "package/", "kopf-wasm-kopf-"+string(r.Version)+".tgz")
}

// pack packs a folder of the sources with the licence, in the way of helm and npm: all files below one folder.
//
// See https://helm.sh/docs/topics/charts/ and https://docs.npmjs.com/cli/commands/npm-pack
func (r *release) pack(folder, prefix, name string) error {
	all, err := archives.Read(filepath.Join(r.source, folder), prefix)
	if err != nil {
		return err
	}
	license, err := r.tree.Read("LICENSE")
	if err != nil {
		return err
	}
	files := []archives.Entry{{Path: prefix + "LICENSE", Content: license, Mode: 0o644}}
	for _, e := range all {
		if !e.Mode.IsDir() {
			files = append(files, e)
		}
	}
	return r.write(name, files, archives.TarGzip)
}

// bom writes the list of components.
func (r *release) bom(context.Context) error {
	sums := map[string]string{}
	for _, built := range r.built {
		for _, m := range built.Info.Deps {
			sums[m.Path+" "+m.Version] = m.Sum
		}
	}
	text, err := bom.Write(bom.Options{
		Name: "kopf", Version: string(r.Version), Module: gomodules.Path("cmd/kopf"), Created: r.tree.Time, Components: r.components, Sums: sums,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.Folder, r.name("bom.cdx.json")), text, 0o644)
}
