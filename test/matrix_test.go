package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMatrixNamesTests: each name in the list of scripts/matrix.sh is that of an end-to-end test, so that a test that gets
// another name is not left out in silence.
func TestMatrixNamesTests(t *testing.T) {
	script, err := os.ReadFile("../scripts/matrix.sh")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?s)\ntests='(.*?)'\n`).FindSubmatch(script)
	if list == nil {
		t.Fatal("scripts/matrix.sh has no list of tests")
	}
	files, err := filepath.Glob("e2e/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sources.Write(text)
	}
	names := strings.Fields(string(list[1]))
	if len(names) < 20 {
		t.Errorf("the list has %d tests", len(names))
	}
	for _, name := range names {
		if !strings.Contains(sources.String(), "\nfunc "+name+"(t *testing.T) {") {
			t.Errorf("scripts/matrix.sh: test/e2e has no %s", name)
		}
	}
}
