//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFlagsReadNoEndlessFiles: no flag and no argument that names a file waits for a pipe without a writer, which
// no signal would end, and none fills the memory from a device.
func TestFlagsReadNoEndlessFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	err := errors.Join(syscall.Mkfifo("pipe", 0o600), os.Symlink("/dev/zero", "zero"), os.WriteFile("op.wasm", []byte("\x00asm\x01\x00\x00\x00"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"run op.wasm -n x --config-file key=%s",
		"run op.wasm -n x --settings %s",
		"annotate %s",
		"load %s",
		"replay %s",
		"explain -f %s --module op.wasm",
		"sign oci://localhost:1/x:v1 --key %s",
		"verify oci://localhost:1/x:v1 --verification-key %s",
		"verify oci://localhost:1/x:v1 --verification-config-path %s",
		"pull oci://localhost:1/x:v1 --sources-path %s",
		"push op.wasm oci://localhost:1/x:v1 --attach %s",
		"manifest op.wasm -n x --crd %s",
		"get operators --host https://localhost:1 --certificate-authority %s",
	} {
		for _, file := range []string{"pipe", "zero"} {
			line := fmt.Sprintf(line, file)
			var stdout, stderr bytes.Buffer
			ended := make(chan exitCode, 1)
			go func() { ended <- run(strings.Fields(line), &stdout, &stderr) }() // Until it ends, or the process.
			select {
			case code := <-ended:
				if code == exitOK || strings.Count(stderr.String(), "Error: ") != 1 {
					t.Errorf("kopf %s: exit code %d\n%s", line, code, &stderr)
				}
				t.Logf("kopf %s: %s", line, &stderr)
			case <-time.After(30 * time.Second):
				t.Fatalf("kopf %s does not end", line)
			}
		}
	}
}
