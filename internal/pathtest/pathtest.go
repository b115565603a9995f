// Package pathtest has paths of files, for tests.
package pathtest

import (
	"path/filepath"
	"testing"
)

// Absolute returns the absolute form of a path. The test fails if the working directory is unknown.
func Absolute(tb testing.TB, path string) string {
	tb.Helper()
	absolute, err := filepath.Abs(path)
	if err != nil {
		tb.Fatal(err)
	}
	return absolute
}
