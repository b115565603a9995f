package chart_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kopf-wasm/kopf/internal/private"
)

// TestCachesOfClaimsStayPrivate: kopf refuses a cache that others can write to, so the kubelet must not make it so at the second start
// of a pod.
func TestCachesOfClaimsStayPrivate(t *testing.T) {
	for _, given := range []values{runValues, serveValues} {
		deployment := find(t, rendered(t, "mailer", "shops", given+"cache: {existingClaim: cache}\n"), "Deployment")
		security := field(t, deployment, "spec.template.spec.securityContext").(map[string]any)
		claim := t.TempDir()
		for start := range 3 {
			if security["fsGroup"] != nil {
				mounted(t, claim, security["fsGroupChangePolicy"] == "OnRootMismatch")
			}
			if err := private.Folder(filepath.Join(claim, "kopf", "wasm")); err != nil {
				t.Errorf("start %d: %v", start, err)
			}
		}
	}
}

// mounted changes the modes of a volume as the kubelet does for an fsGroup.
//
// See https://github.com/kubernetes/kubernetes/blob/v1.34.0/pkg/volume/volume_linux.go
func mounted(t *testing.T, volume string, onMismatch bool) {
	t.Helper()
	const file, folder = 0o660, 0o770 | fs.ModeSetgid
	info, err := os.Stat(volume)
	if err != nil {
		t.Fatal(err)
	}
	if onMismatch && info.Mode()&folder == folder {
		return
	}
	err = filepath.WalkDir(volume, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.Chmod(path, info.Mode()|folder)
		}
		return os.Chmod(path, info.Mode()|file)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTheCacheFitsIntoItsVolume: beyond the limit, the kubelet evicts the pod. Authors of declarations choose what is compiled.
func TestTheCacheFitsIntoItsVolume(t *testing.T) {
	const most = 4 << 30 // host.maxCache
	for _, item := range field(t, find(t, rendered(t, "mailer", "shops", serveValues), "Deployment"), "spec.template.spec.volumes").([]any) {
		volume := item.(map[string]any)
		if volume["name"] != "cache" {
			continue
		}
		size, err := resource.ParseQuantity(volume["emptyDir"].(map[string]any)["sizeLimit"].(string))
		if err != nil || size.Value() <= most {
			t.Errorf("the volume has %v bytes, %v, and the cache can have %d", size.Value(), err, int64(most))
		}
	}
}
