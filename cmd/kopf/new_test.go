package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProgramsFindTheCloneThatTheyWereBuiltIn(t *testing.T) {
	clone := t.TempDir()
	t.Chdir(clone)
	if err := os.MkdirAll(filepath.Join("guest-sdks", "go"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFiles(t, map[string]string{"guest-sdks/go/go.mod": "module x\n"})
	for program, want := range map[string]string{
		filepath.Join(clone, "bin", "kopf"):       clone,
		filepath.Join(clone, "kopf"):              "",
		filepath.Join(t.TempDir(), "bin", "kopf"): "",
	} {
		if got := ownClone(program, nil); got != want {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
	if got := ownClone("", errors.New("unknown")); got != "" {
		t.Errorf("without a path: %q", got)
	}
}

// Until the SDKs are published, a project without a clone cannot be built: kopf new says what to do.
func TestProjectsWithoutACloneSayWhatTheyNeed(t *testing.T) {
	t.Chdir(t.TempDir())
	for language, says := range map[string]bool{"go": true, "rust": true, "python": false, "c": false} {
		var stdout, stderr bytes.Buffer
		if code := run([]string{"new", "op-" + language, "--lang", language}, &stdout, &stderr); code != exitOK {
			t.Fatalf("%s: exit code %d: %s", language, code, &stderr)
		}
		if strings.Contains(stdout.String(), "--sdk CLONE") != says {
			t.Errorf("%s:\n%s", language, &stdout)
		}
	}
}
