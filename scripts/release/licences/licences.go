// Package licences finds the licences of what a release links, and writes them as one text.
package licences

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Component is a part of a release that others have written.
type Component struct {
	// Kind is the type of its package URL: golang, cargo, deb or generic.
	Kind string

	Name, Version string

	// IDs are identifiers or expressions of SPDX.
	IDs []string

	// Texts are its licences and notices.
	Texts []string
}

// Package is a package of a Go module, as far as it matters here.
type Package struct {
	Folder                    string
	Module, Version, ModuleAt string
}

// ErrUnknown is the error for components whose licence is missing, or not on the list of those that this project accepts.
var ErrUnknown = errors.New("its licence is missing, unknown or not accepted")

// names are those of files with licences and notices.
var names = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)s?([-._].*)?$`)

// Go finds the licences of modules: files in the folders of the linked packages, and in the folders above them.
func Go(packages []Package) ([]Component, error) {
	type key struct{ module, version string }
	found := map[key]*Component{}
	seen := map[string]bool{}
	for _, p := range packages {
		c := found[key{p.Module, p.Version}]
		if c == nil {
			c = &Component{Kind: "golang", Name: p.Module, Version: p.Version}
			found[key{p.Module, p.Version}] = c
		}
		for at := p.Folder; strings.HasPrefix(at, p.ModuleAt) && !seen[at]; at = filepath.Dir(at) {
			seen[at] = true
			if err := c.read(at, (*Component).add); err != nil {
				return nil, err
			}
		}
	}
	var all []Component
	for _, c := range found {
		if len(c.IDs) == 0 {
			return nil, fmt.Errorf("%s %s: %w", c.Name, c.Version, ErrUnknown)
		}
		all = append(all, *c)
	}
	return sorted(all), nil
}

// read adds the licences of a folder by a function for their texts and names.
func (c *Component) read(folder string, add func(c *Component, text, name string) error) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		switch {
		case entry.IsDir() || !names.MatchString(entry.Name()), strings.HasSuffix(entry.Name(), ".go"):
			continue
		case strings.HasSuffix(entry.Name(), ".docs"): // of a manual that no program links
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		if err := add(c, string(text), entry.Name()); err != nil {
			return err
		}
	}
	return nil
}

// keep adds a text of a component whose licence is declared.
func (c *Component) keep(text, _ string) error {
	if !slices.Contains(c.Texts, text) {
		c.Texts = append(c.Texts, text)
	}
	return nil
}

// add adds a text, and identifies its licence. Notices and grants of patents come with a licence, and are none themselves.
func (c *Component) add(text, name string) error {
	_ = c.keep(text, name) // never fails
	lower := strings.ToLower(name)
	if strings.HasPrefix(lower, "notice") || strings.HasPrefix(lower, "patents") {
		return nil
	}
	id := Identify(text)
	if id == "" {
		return fmt.Errorf("%s %s: %s: %w", c.Name, c.Version, name, ErrUnknown)
	}
	if !slices.Contains(c.IDs, id) {
		c.IDs = append(c.IDs, id)
		slices.Sort(c.IDs)
	}
	return nil
}

// phrases are those that only one licence has. The first licence whose phrases are all in a text is that of the text.
var phrases = []struct {
	id  string
	all []string
}{
	{"MPL-2.0", []string{"mozilla public license", "version 2.0"}},
	{"Apache-2.0", []string{"apache license", "version 2.0"}},
	{"Apache-2.0", []string{"licensed under the apache license, version 2.0"}},
	{"MIT", []string{"permission is hereby granted, free of charge, to any person obtaining a copy"}},
	{"ISC", []string{"permission to use, copy, modify, and/or distribute this software for any purpose"}},
	{"ISC", []string{"permission to use, copy, modify, and distribute this software for any purpose"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "names of its contributors"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "be used to endorse or promote products"}},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms"}},
	{"Unlicense", []string{"this is free and unencumbered software"}},
	{"Zlib", []string{"this software is provided 'as-is'", "altered source versions must be plainly marked"}},
}

// Identify returns the identifier of a licence by phrases of its text, or "" if this project does not accept it.
//
// See https://spdx.org/licenses/
func Identify(text string) string {
	plain := strings.ToLower(strings.Join(strings.Fields(text), " "))
	if strings.Contains(plain, "gnu general public license") || strings.Contains(plain, "gnu affero") {
		return ""
	}
	for _, p := range phrases {
		if !slices.ContainsFunc(p.all, func(phrase string) bool { return !strings.Contains(plain, phrase) }) {
			return p.id
		}
	}
	return ""
}

// Notices writes all texts, each of them once, with the names of the components that have it.
func Notices(title string, components []Component) []byte {
	owners := map[string][]string{}
	var texts []string
	for _, c := range sorted(components) {
		for _, text := range c.Texts {
			if owners[text] == nil {
				texts = append(texts, text)
			}
			owners[text] = append(owners[text], strings.TrimSpace(c.Name+" "+c.Version))
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", title)
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(owners[text], "\n"), strings.TrimRight(text, "\n"))
	}
	return []byte(out.String())
}

func sorted(components []Component) []Component {
	return slices.SortedFunc(slices.Values(components), func(a, b Component) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
}
