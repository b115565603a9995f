package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/scripts/release/tree"
)

// checkout makes a repository with one commit.
func checkout(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	if err := os.WriteFile(filepath.Join(folder, "file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "--all"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "all"}} {
		if _, err := tree.Git(t.Context(), folder, nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestBadReleasesAreRefused(t *testing.T) {
	clean, dirty := checkout(t), checkout(t)
	if err := os.WriteFile(filepath.Join(dirty, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	full := t.TempDir()
	if err := os.MkdirAll(full+"/0.1.0/image", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no verb":         {nil, "usage: release"},
		"unknown verb":    {[]string{"ship", "-version", "0.1.0", "-root", clean}, "usage: release"},
		"no version":      {[]string{"check", "-root", clean}, "the version is missing: add VERSION=0.1.0"},
		"bad version":     {[]string{"check", "-version", "one", "-root", clean}, "no semantic version"},
		"dirty tree":      {[]string{"check", "-version", "0.1.0", "-root", dirty}, "not committed: commit or remove them: ?? new"},
		"no checkout":     {[]string{"check", "-version", "0.1.0", "-root", t.TempDir()}, "not a git repository"},
		"no registry":     {[]string{"push", "-version", "0.1.0"}, "add REGISTRY="},
		"nothing to seal": {[]string{"seal", "-version", "0.1.0", "-out", t.TempDir()}, "no such file or directory"},
		"no key to seal":  {[]string{"seal", "-version", "0.1.0", "-out", full, "-key", "/nowhere"}, "/nowhere"},
		"an empty seal":   {[]string{"seal", "-version", "0.1.0", "-out", full}, "run make release"},
		"no release":      {[]string{"push", "-version", "0.1.0", "-to", "127.0.0.1:1/me", "-out", t.TempDir()}, "run make release"},
		"other release":   {[]string{"build", "-version", "0.1.0", "-root", clean, "-out", full}, "has files of another release"},
		"bad platform":    {[]string{"build", "-version", "0.1.0", "-root", clean, "-platforms", "linux"}, "like linux/amd64"},
		"no key":          {[]string{"build", "-version", "0.1.0", "-root", clean, "-key", "/nowhere"}, "/nowhere"},
		"no private key":  {[]string{"build", "-version", "0.1.0", "-root", clean, "-key", clean + "/file"}, "no private key in PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := run(t.Context(), tt.args, &out, &out); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	if err := run(t.Context(), []string{"check", "-version", "v0.1.0", "-root", clean}, nil, nil); err != nil {
		t.Errorf("a good release: %v", err)
	}
}
