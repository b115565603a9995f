// Package treetest copies this checkout for tests, so that they do not notice changes while they run.
package treetest

import (
	"os"
	"testing"

	"github.com/kopf-wasm/kopf/scripts/release/tree"
)

// Clone commits the files of a checkout to a repository of their own.
func Clone(t *testing.T, root string) *tree.Tree {
	t.Helper()
	from, err := tree.Open(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := from.Stage(folder, "0.1.0"); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com", "GIT_CONFIG_GLOBAL": os.DevNull,
	} {
		t.Setenv(key, value)
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "--all"}, {"commit", "--quiet", "--message", "all"}} {
		if _, err := tree.Git(t.Context(), folder, nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	clone, err := tree.Open(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	return clone
}
