package tree

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/kopf-wasm/kopf/scripts/release/version"
)

// edit is a change of the files that have the version of a package. Go modules are changed by package gomodules.
type edit struct {
	name    string // of the files
	pattern *regexp.Regexp
	to      string // with %s for the version
}

// edits are for the manifests of packages. Each file of a name is changed where the pattern fits.
var edits = []edit{
	{"Chart.yaml", regexp.MustCompile(`(?m)^(version|appVersion): .*$`), "${1}: %s"},
	{"package.json", regexp.MustCompile(`(?m)^  "version": ".*"`), `  "version": "%s"`},
	{"Cargo.toml", regexp.MustCompile(`(?m)^(\[workspace\.package\]\nversion = )".*"`), `${1}"%s"`},
	{"Cargo.toml", regexp.MustCompile(`(?m)^(kopf-(?:abi|macros) = \{ version = )"[^"]*"`), `${1}"%s"`},
	{"Cargo.lock", regexp.MustCompile(`(?m)^(name = "kopf(?:-abi|-macros)?"\nversion = )".*"`), `${1}"%s"`},
}

// edited are the folders whose files have the version: those with packages that are released, and those with their users.
var edited = regexp.MustCompile(`^(charts/kopf|guest-sdks/(javascript|rust)|engines/javascript|examples|docs/snippets/rust|test/.*guests/.*)/`)

// Stage copies the tree to a folder, with the version of a release in the manifests of packages.
func (t *Tree) Stage(folder string, v version.Version) error {
	if err := t.copyTo(folder); err != nil {
		return err
	}
	for _, path := range t.Files {
		if !edited.MatchString(path) {
			continue
		}
		for _, e := range edits {
			if filepath.Base(path) != e.name {
				continue
			}
			if err := e.apply(filepath.Join(folder, path), string(v)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e edit) apply(path, to string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	changed := e.pattern.ReplaceAll(text, fmt.Appendf(nil, e.to, to))
	if bytes.Equal(changed, text) {
		return nil
	}
	return os.WriteFile(path, changed, 0o644)
}
