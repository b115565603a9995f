package assets_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/artifacts/signatures"
	"github.com/kopf-wasm/kopf/scripts/release/assets"
	"github.com/kopf-wasm/kopf/scripts/release/programs"
	"github.com/kopf-wasm/kopf/scripts/release/tree"
	"github.com/kopf-wasm/kopf/scripts/release/treetest"
)

const (
	v     = "0.9.0-test"
	crate = "kopf-" + v + ".crate"
)

var here = programs.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH}

// TestEqualReleasesHaveEqualBytes: two releases of one version, in other folders, with all files; `go install` builds the
// program from a proxy, and the program knows its version.
func TestEqualReleasesHaveEqualBytes(t *testing.T) {
	// As in all tests, without debugging information, which releases lose at the linker: so the libraries are compiled once.
	programs.Flags = append(slices.Clone(programs.Flags), "-gcflags=all=-dwarf=false")
	key, public := keyPair(t)
	from := treetest.Clone(t, "../../..")
	first, second := t.TempDir(), t.TempDir()
	one := made(t, from, first, key)
	if err := os.MkdirAll(second+"/go", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(first+"/go/modules", second+"/go/modules"); err != nil { // unpacking the modules of others takes long
		t.Fatal(err)
	}
	two := made(t, from, second, key)
	for name, text := range one {
		if name != assets.Checksums+".sig" && !bytes.Equal(text, two[name]) { // signatures are random
			t.Errorf("%s differs", name)
		}
	}
	if name := "kopf_" + v + "_"; runtime.GOOS == "linux" {
		want := []string{
			assets.Checksums, assets.Checksums + ".sig", crate, "kopf-" + v + ".tgz", "kopf-wasm-kopf-" + v + ".tgz", name + "bom.cdx.json", name + "image.tar",
			name + "linux_" + runtime.GOARCH + ".tar.gz",
		}
		if got := slices.Sorted(maps.Keys(one)); !slices.Equal(got, want) {
			t.Errorf("the files are %v", got)
		}
	}
	checked(t, one)
	signed(t, one, public)
	installed(t, one)
	packages(t, one)
}

// TestSealsAreThoseOfTheFiles: a second seal has the new files, and removes signatures of the former one.
func TestSealsAreThoseOfTheFiles(t *testing.T) {
	folder := t.TempDir()
	if err := assets.Seal(folder, nil); err == nil || !strings.Contains(err.Error(), "run make release") {
		t.Errorf("an empty folder: %v", err)
	}
	if err := assets.Seal(filepath.Join(folder, "missing"), nil); err == nil {
		t.Error("no folder is sealed")
	}
	write := func(names ...string) {
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	key, public := keyPair(t)
	read := func() map[string][]byte {
		files := map[string][]byte{}
		for _, name := range []string{"a", "b", assets.Checksums, assets.Checksums + ".sig", assets.Checksums + ".sigstore.json"} {
			if text, err := os.ReadFile(filepath.Join(folder, name)); err == nil {
				files[name] = text
			}
		}
		return files
	}
	write("a", assets.Checksums+".sigstore.json")
	if err := assets.Seal(folder, key); err != nil {
		t.Fatal(err)
	}
	checked(t, read())
	signed(t, read(), public)
	write("b")
	if err := assets.Seal(folder, nil); err != nil {
		t.Fatal(err)
	}
	if files := read(); files[assets.Checksums+".sig"] != nil || strings.Count(string(files[assets.Checksums]), "\n") != 2 {
		t.Errorf("the second seal:\n%s", files[assets.Checksums])
	}
}

// toolchain is the folder of the installation of Go.
func toolchain(t *testing.T) string {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(root))
}

// made makes a release for this platform, without engines, and returns its files.
func made(t *testing.T, from *tree.Tree, work string, key *signatures.PrivateKey) map[string][]byte {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "dist")
	o := assets.Options{Version: v, Folder: folder, Work: work, Platforms: []programs.Platform{here}}
	if err := assets.Make(t.Context(), from, o); err != nil {
		t.Fatal(err)
	}
	if err := assets.Make(t.Context(), from, o); err == nil || !strings.Contains(err.Error(), "has files of another release") {
		t.Errorf("a second release in the same folder: %v", err)
	}
	for _, name := range []string{crate, assets.Pushed} { // as `make release` and `make push` do
		if err := os.WriteFile(filepath.Join(folder, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := assets.Seal(folder, key); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder, assets.Pushed)); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		if files[entry.Name()], err = os.ReadFile(filepath.Join(folder, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// checked compares the files with the checksums: all files, and no others.
func checked(t *testing.T, files map[string][]byte) {
	t.Helper()
	lines := map[string]bool{}
	for line := range strings.Lines(string(files[assets.Checksums])) {
		lines[strings.TrimSpace(line)] = true
	}
	if want := len(files) - 2; len(lines) != want { // all but the checksums and their signature
		t.Errorf("%d files have checksums, want %d", len(lines), want)
	}
	for name, text := range files {
		if !strings.HasPrefix(name, assets.Checksums) && !lines[fmt.Sprintf("%x  %s", sha256.Sum256(text), name)] {
			t.Errorf("the checksum of %s is missing", name)
		}
	}
}

// signed verifies the signature as `cosign verify-blob` does.
func signed(t *testing.T, files map[string][]byte, public *ecdsa.PublicKey) {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(string(files[assets.Checksums+".sig"]))
	sum := sha256.Sum256(files[assets.Checksums])
	if err != nil || !ecdsa.VerifyASN1(public, sum[:], raw) {
		t.Errorf("the signature is wrong: %v", err)
	}
}

// installed runs the program of the archive.
func installed(t *testing.T, files map[string][]byte) {
	t.Helper()
	folder := fmt.Sprintf("kopf_%s_%s_%s", v, here.OS, here.Architecture)
	unpacked := untar(t, files[folder+".tar.gz"])
	program := filepath.Join(t.TempDir(), "kopf")
	if err := os.WriteFile(program, unpacked[folder+"/kopf"], 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "kopf v"+v+"\n") {
		t.Errorf("kopf version prints %q, %v", out, err)
	}
	notices := string(unpacked[folder+"/NOTICES"])
	for _, want := range []string{"\nstd go", "\ngithub.com/tetratelabs/wazero v", "\nk8s.io/client-go v", "Apache License"} {
		if !strings.Contains(notices, want) {
			t.Errorf("the notices have no %q", want)
		}
	}
	if unpacked[folder+"/LICENSE"] == nil || unpacked[folder+"/README.md"] == nil {
		t.Error("the licence or the README is missing")
	}
	if bom := string(files["kopf_"+v+"_bom.cdx.json"]); !strings.Contains(bom, `"pkg:golang/github.com/tetratelabs/wazero@v`) || strings.Contains(bom, toolchain(t)) {
		t.Error("the list of components has no wazero, or paths of this machine")
	}
}

// packages looks into the packages of helm and npm.
func packages(t *testing.T, files map[string][]byte) {
	t.Helper()
	chart := untar(t, files["kopf-"+v+".tgz"])
	if text := string(chart["kopf/Chart.yaml"]); !strings.Contains(text, "\nversion: "+v+"\nappVersion: "+v+"\n") {
		t.Errorf("the chart is\n%s", text)
	}
	types := untar(t, files["kopf-wasm-kopf-"+v+".tgz"])
	if text := string(types["package/package.json"]); !strings.Contains(text, `"version": "`+v+`"`) || types["package/kopf.d.ts"] == nil || types["package/LICENSE"] == nil {
		t.Errorf("the package of types is\n%s", text)
	}
}

func untar(t *testing.T, packed []byte) map[string][]byte {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(plain); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func keyPair(t *testing.T) (*signatures.PrivateKey, *ecdsa.PublicKey) {
	t.Helper()
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(made)
	if err != nil {
		t.Fatal(err)
	}
	key, err := signatures.ParsePrivateKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return key, &made.PublicKey
}
