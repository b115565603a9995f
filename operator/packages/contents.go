package packages

import (
	"slices"
	"strings"
)

// Contents says what the files of a module are.
type Contents struct {
	Modules  []string // modules and packages of the author: helpers.py, operators/
	Packages []string // packages with their versions: PyYAML 6.0.3; without metadata, their names
}

// ContentsOf returns the sorted contents of files by their paths.
func ContentsOf(paths []string) Contents {
	var c Contents
	versioned, named := map[string]bool{}, map[string]bool{}
	for _, path := range paths {
		if own, ok := strings.CutPrefix(path, Script); ok {
			top, _, folder := strings.Cut(own, "/")
			if folder {
				top += "/"
			}
			c.Modules = append(c.Modules, top)
		}
		rest, ok := strings.CutPrefix(path, Packages)
		top, _, _ := strings.Cut(rest, "/")
		if dist, isInfo := strings.CutSuffix(top, ".dist-info"); ok && isInfo {
			versioned[strings.Replace(dist, "-", " ", 1)] = true
		} else if ok {
			named[strings.TrimSuffix(strings.TrimSuffix(top, ".pyc"), ".py")] = true
		}
	}
	c.Modules = slices.Compact(c.Modules)
	if c.Packages = sortedKeys(versioned); len(versioned) == 0 {
		c.Packages = sortedKeys(named)
	}
	return c
}
