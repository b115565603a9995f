// Package version checks the versions of releases.
package version

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// Version is a version of a release without the letter v, such as 0.1.0 or 0.2.0-rc.1.
type Version string

// Parse parses a version, with or without the letter v.
//
// Errors: the text is empty, no complete semantic version, has build metadata, which tags of images cannot have, or is
// 2.0.0 or later, for which Go demands other module paths.
//
// See https://semver.org/spec/v2.0.0.html
func Parse(text string) (Version, error) {
	if text == "" {
		return "", errors.New("the version is missing: add VERSION=0.1.0")
	}
	bare := strings.TrimPrefix(text, "v")
	tag := "v" + bare
	switch {
	case !semver.IsValid(tag) || semver.Canonical(tag) != strings.SplitN(tag, "+", 2)[0]:
		return "", fmt.Errorf("VERSION=%s is no semantic version: want MAJOR.MINOR.PATCH, like 0.1.0 or 0.2.0-rc.1", text)
	case semver.Build(tag) != "":
		return "", fmt.Errorf("VERSION=%s has build metadata, which tags of images cannot have: remove %s", text, semver.Build(tag))
	case semver.Major(tag) != "v0" && semver.Major(tag) != "v1":
		return "", fmt.Errorf("VERSION=%s: the paths of the Go modules are for v0 and v1: a later version needs paths that end with /%s", text, semver.Major(tag))
	}
	return Version(bare), nil
}

// Tag returns the version with the letter v, as Go and git write it.
func (v Version) Tag() string { return "v" + string(v) }
