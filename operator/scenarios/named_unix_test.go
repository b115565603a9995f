//go:build unix

package scenarios

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFilesThatAFileNamesAreFiles: others may have written the file.
func TestFilesThatAFileNamesAreFiles(t *testing.T) {
	dir := t.TempDir()
	pipe, large := filepath.Join(dir, "pipe"), filepath.Join(dir, "large")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(large, nil, 0o600), os.Truncate(large, 1<<40)); err != nil {
		t.Fatal(err)
	}
	const steps = "scenarios: [{name: a, steps: [{advance: 1s}]}]\n"
	for _, tt := range []struct{ text, want string }{
		{"definitions: /dev/zero\n" + steps, "op_test.yaml:1:14: /dev/zero is not a regular file"},
		{"module: /dev/zero\n" + steps, "op_test.yaml:1:9: /dev/zero is not a regular file"},
		{"module: pipe\n" + steps, "pipe is not a regular file"},
		{"definitions: large\n" + steps, "large: too much: the file has more than 8 MiB"},
		{"scenarios: [{name: a, objects: pipe, steps: [{advance: 1s}]}]\n", "op_test.yaml:1:32: " + pipe + " is not a regular file"},
		{"scenarios: [{name: a, objects: large, steps: [{advance: 1s}]}]\n", "large: too much"},
	} {
		path := filepath.Join(dir, "op_test.yaml")
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%serror %v, want %s", tt.text, err, tt.want)
		}
	}
}

// TestNamedFilesAreBoundedTogether: one large file can be named often.
func TestNamedFilesAreBoundedTogether(t *testing.T) {
	dir := t.TempDir()
	objects := object + "\n" + strings.Repeat("#", 7<<20) + "\n"
	path := filepath.Join(dir, "op_test.yaml")
	text := "scenarios: [{name: a, objects: [" + strings.Repeat("o.yaml, ", 10) + "], steps: [{advance: 1s}]}]\n"
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "o.yaml"), []byte(objects), 0o600), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "op_test.yaml:1:65: too much: the named files have more than 32 MiB") {
		t.Errorf("error %v", err)
	}
}
