// Package gomodules prepares the Go modules of the repository for a release: it gives them their version, and packs them
// for a proxy of Go modules.
//
// In the repository, modules replace each other by their folders. `go install` refuses modules with replacements, so a
// release has none, and its go.sum files have the checksums of the modules that it releases.
package gomodules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"

	"github.com/kopf-wasm/kopf/scripts/release/version"
)

// Root is the path of the root module. Paths of all others begin with it.
const Root = "github.com/kopf-wasm/kopf"

// Folders are those of the released modules, each after the modules that it requires: in this order they get their tags.
var Folders = []string{"abi", "guest-sdks/go", ".", "artifacts/signatures/sigstore", "cmd/kopf"}

// Path returns the path of the module in a folder.
func Path(folder string) string { return strings.TrimSuffix(Root+"/"+folder, "/.") }

// Tag returns the tag of git for the module in a folder.
//
// See https://go.dev/ref/mod#vcs-version
func Tag(folder string, v version.Version) string {
	return strings.TrimPrefix(folder+"/"+v.Tag(), "./")
}

// Prepare gives the modules in a copy of the repository their version, and packs them into the folder of a file proxy.
func Prepare(root, proxy string, v version.Version, at time.Time) error {
	sums := map[string]string{} // lines of go.sum by module
	for _, folder := range Folders {
		if err := prepare(root, folder, v, sums); err != nil {
			return fmt.Errorf("%s: %w", Path(folder), err)
		}
		sum, err := pack(root, proxy, folder, v, at)
		if err != nil {
			return fmt.Errorf("%s: %w", Path(folder), err)
		}
		sums[Path(folder)] = sum
	}
	return nil
}

// prepare changes the files of one module.
func prepare(root, folder string, v version.Version, sums map[string]string) error {
	at := filepath.Join(root, folder)
	text, err := os.ReadFile(filepath.Join(at, "go.mod"))
	if err != nil {
		return err
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return err
	}
	released, added, err := require(file, v, sums)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(at, "go.mod"), released, 0o644); err != nil {
		return err
	}
	if added != "" {
		existing, err := os.ReadFile(filepath.Join(at, "go.sum"))
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		if strings.Contains(string(existing), added) {
			added = "" // this is the commit of a release
		}
		if err := os.WriteFile(filepath.Join(at, "go.sum"), append(existing, added...), 0o644); err != nil {
			return err
		}
	}
	if folder == "." {
		return nil
	}
	license, err := os.ReadFile(filepath.Join(root, "LICENSE")) // a module is distributed without its repository
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(at, "LICENSE"), license, 0o644)
}

// require lets a go.mod require the modules of the release, without replacements, and returns its lines of go.sum.
func require(file *modfile.File, v version.Version, sums map[string]string) (released []byte, added string, err error) {
	var own []string
	for _, r := range file.Require {
		if r.Mod.Path == Root || strings.HasPrefix(r.Mod.Path, Root+"/") {
			own = append(own, r.Mod.Path)
		}
	}
	for _, path := range own {
		if sums[path] == "" {
			return nil, "", fmt.Errorf("requires %s, which is released after it, or never", path)
		}
		if err := file.AddRequire(path, v.Tag()); err != nil {
			return nil, "", err
		}
		added += sums[path]
	}
	for _, r := range append([]*modfile.Replace(nil), file.Replace...) {
		if !strings.HasPrefix(r.Old.Path, Root) {
			return nil, "", fmt.Errorf("replaces %s, so it cannot be installed", r.Old.Path)
		}
		if err := file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
			return nil, "", err
		}
	}
	file.Cleanup()
	released, err = file.Format()
	return released, added, err
}

// pack writes the files of a proxy for one module, and returns its lines of go.sum.
//
// See https://go.dev/ref/mod#goproxy-protocol
func pack(root, proxy, folder string, v version.Version, at time.Time) (sum string, err error) {
	mod := module.Version{Path: Path(folder), Version: v.Tag()}
	to := filepath.Join(proxy, mod.Path, "@v")
	if err = os.MkdirAll(to, 0o755); err != nil {
		return "", err
	}
	var packed bytes.Buffer
	if err = zip.CreateFromDir(&packed, mod, filepath.Join(root, folder)); err != nil {
		return "", err
	}
	definition, err := os.ReadFile(filepath.Join(root, folder, "go.mod"))
	if err != nil {
		return "", err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{mod.Version, at})
	if err != nil {
		return "", err
	}
	for ending, content := range map[string][]byte{".info": info, ".mod": definition, ".zip": packed.Bytes()} {
		if err = os.WriteFile(filepath.Join(to, mod.Version+ending), content, 0o644); err != nil {
			return "", err
		}
	}
	if err = os.WriteFile(filepath.Join(to, "list"), []byte(mod.Version+"\n"), 0o644); err != nil {
		return "", err
	}
	return lines(mod, filepath.Join(to, mod.Version+".zip"), definition)
}

// lines returns the lines of go.sum about a module.
func lines(mod module.Version, packed string, definition []byte) (string, error) {
	whole, err := dirhash.HashZip(packed, dirhash.Hash1)
	if err != nil {
		return "", err
	}
	alone, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(definition)), nil })
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s %s\n%[1]s %[2]s/go.mod %[4]s\n", mod.Path, mod.Version, whole, alone), nil
}
