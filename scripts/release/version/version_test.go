package version_test

import (
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/scripts/release/version"
)

func TestVersionsAreComplete(t *testing.T) {
	for text, want := range map[string]string{"0.1.0": "0.1.0", "v0.1.0": "0.1.0", "1.2.3-rc.1": "1.2.3-rc.1"} {
		got, err := version.Parse(text)
		if err != nil || string(got) != want || got.Tag() != "v"+want {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
}

func TestBadVersionsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"": "add VERSION=0.1.0", "1": "no semantic version", "1.2": "no semantic version", "latest": "no semantic version", "01.2.3": "no semantic version",
		"vv1.2.3": "no semantic version", "1.2.3+linux": "remove +linux", "2.0.0": "end with /v2", "0.1.0 ": "no semantic version", "../x": "no semantic version",
	} {
		if got, err := version.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q, %v; want an error with %q", text, got, err, want)
		}
	}
}
