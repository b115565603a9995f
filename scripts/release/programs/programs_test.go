package programs_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/scripts/release/gomodules"
	"github.com/kopf-wasm/kopf/scripts/release/programs"
	"github.com/kopf-wasm/kopf/scripts/release/tree"
	"github.com/kopf-wasm/kopf/scripts/release/version"
)

const root = "../../.."

// TestVersionsAreInstalledAlike: `go install` of a version from a proxy builds the program with its version, and twice
// the same bytes from two copies of the repository in two folders.
func TestVersionsAreInstalledAlike(t *testing.T) {
	v := version.Version("0.9.0-test")
	here := programs.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH}
	var sums []string
	var path string
	for range 2 {
		b := prepared(t, v)
		built, err := b.Build(t.Context(), here)
		if err != nil {
			t.Fatal(err)
		}
		path = built.Path
		sums = append(sums, sum(t, path))
		if built.Info.Main.Version != v.Tag() {
			t.Errorf("the version in the program is %s", built.Info.Main.Version)
		}
	}
	if sums[0] != sums[1] {
		t.Error("two builds of one version differ")
	}
	out, err := exec.Command(path, "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "kopf "+v.Tag()+"\n") {
		t.Errorf("kopf version prints %q, %v", out, err)
	}
}

// prepared packs the modules of the repository in a new folder.
func prepared(t *testing.T, v version.Version) *programs.Builder {
	t.Helper()
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	from, err := tree.Open(t.Context(), repository)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	b := &programs.Builder{Version: v, Repository: repository, Proxy: filepath.Join(dir, "proxy"), Work: filepath.Join(dir, "work")}
	if err := from.Stage(filepath.Join(dir, "source"), v); err != nil {
		t.Fatal(err)
	}
	if err := gomodules.Prepare(filepath.Join(dir, "source"), b.Proxy, v, from.Time); err != nil {
		t.Fatal(err)
	}
	if err := b.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

func sum(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := sha256.Sum256(text)
	return hex.EncodeToString(all[:])
}
