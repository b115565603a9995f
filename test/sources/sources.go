// Package sources lets tests look at the sources that other processes compile for them: `go test` takes a
// result from its cache unless something has changed that the test itself has looked at. Folders are those
// of the repository; the tests are two levels below its root.
package sources

import (
	"io/fs"
	"path/filepath"
	"testing"
)

// WatchCommandLine looks at all that `kopf` is built of.
func WatchCommandLine(t *testing.T) {
	t.Helper()
	Watch(t, "abi", "artifacts", "cmd", "host", "hosting", "internal", "operator", "reactor", "stores", "webhooks")
}

// WatchGo looks at guests in Go, and at their SDK.
func WatchGo(t *testing.T, folder string) {
	t.Helper()
	Watch(t, folder, "guest-sdks/go", "abi")
}

// WatchRust looks at guests in Rust, and at their SDK and the scripts that build them.
func WatchRust(t *testing.T, folder string) {
	t.Helper()
	Watch(t, folder, "guest-sdks/rust", "scripts")
}

// Watch looks at folders.
func Watch(t *testing.T, folders ...string) {
	t.Helper()
	for _, folder := range folders {
		if err := filepath.WalkDir(filepath.Join("../..", folder), func(_ string, _ fs.DirEntry, err error) error { return err }); err != nil {
			t.Fatal(err)
		}
	}
}
