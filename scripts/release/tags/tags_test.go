package tags_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/scripts/release/gomodules"
	"github.com/kopf-wasm/kopf/scripts/release/tags"
	"github.com/kopf-wasm/kopf/scripts/release/treetest"
	"github.com/kopf-wasm/kopf/scripts/release/version"
)

const v = version.Version("0.9.0-test")

// TestTagsGiveTheModulesOfTheRelease: the go command makes the same modules of the tags as the release has packed, so that
// the checksums in the go.sum files are right for users.
func TestTagsGiveTheModulesOfTheRelease(t *testing.T) {
	work := t.TempDir()
	clone := treetest.Clone(t, "../../..")
	made, err := tags.Make(t.Context(), clone, v, work)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"abi/v0.9.0-test", "guest-sdks/go/v0.9.0-test", "v0.9.0-test", "artifacts/signatures/sigstore/v0.9.0-test", "cmd/kopf/v0.9.0-test"}; !slices.Equal(made, want) {
		t.Errorf("the tags are %v", made)
	}
	for _, folder := range gomodules.Folders {
		name := gomodules.Path(folder) + "@" + v.Tag()
		fromTags, fromProxy := sum(t, name, clone.Root, "direct"), sum(t, name, clone.Root, "file://"+filepath.Join(work, "proxy"))
		if fromTags != fromProxy {
			t.Errorf("%s: the tags give %s, the release has %s", name, fromTags, fromProxy)
		}
	}
	if _, err := tags.Make(t.Context(), clone, v, work); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a second release of one version: %v", err)
	}
}

// sum is the checksum of a module from a proxy; the repository on the forge is a folder.
func sum(t *testing.T, name, repository, proxy string) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", name)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GOPROXY="+proxy, "GONOSUMDB="+gomodules.Root, "GOSUMDB=off", "GOFLAGS=-modcacherw", "GOWORK=off", "GOVCS=*:git", "GOMODCACHE="+t.TempDir(),
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://"+repository+".insteadOf", "GIT_CONFIG_VALUE_0=https://"+gomodules.Root)
	out, err := cmd.Output()
	var downloaded struct{ Sum, Error string }
	if jsonErr := json.Unmarshal(out, &downloaded); jsonErr != nil || err != nil || downloaded.Error != "" {
		t.Fatalf("%s from %s: %v, %v: %s", name, proxy, err, jsonErr, out)
	}
	return downloaded.Sum
}
