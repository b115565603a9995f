package licences

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// crate is a package in the output of `cargo metadata`.
type crate struct {
	ID           string
	Name         string
	Version      string
	License      string
	Source       string // empty for crates of this repository
	ManifestPath string `json:"manifest_path"`
}

// graph is the output of `cargo metadata`, as far as it matters here.
//
// See https://doc.rust-lang.org/cargo/commands/cargo-metadata.html
type graph struct {
	Packages []crate
	Resolve  struct {
		Root  string
		Nodes []struct {
			ID   string
			Deps []struct {
				Pkg   string
				Kinds []struct{ Kind string } `json:"dep_kinds"`
			}
		}
	}
}

// Crates finds the licences of the crates that a crate links, from the output of `cargo metadata`. Crates that only build
// others are not linked.
func Crates(metadata []byte) ([]Component, error) {
	var g graph
	if err := json.Unmarshal(metadata, &g); err != nil {
		return nil, fmt.Errorf("cargo metadata: %w", err)
	}
	linked := g.linked()
	var all []Component
	for _, p := range g.Packages {
		if !linked[p.ID] || p.Source == "" {
			continue
		}
		c := Component{Kind: "cargo", Name: p.Name, Version: p.Version}
		if p.License == "" || strings.Contains(p.License, "GPL") {
			return nil, fmt.Errorf("the crate %s %s: %q: %w", p.Name, p.Version, p.License, ErrUnknown)
		}
		c.IDs = []string{p.License}
		if err := c.read(filepath.Dir(p.ManifestPath), (*Component).keep); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return sorted(all), nil
}

// linked are the crates that the root crate needs at run time.
func (g *graph) linked() map[string]bool {
	needs := map[string][]string{}
	for _, node := range g.Resolve.Nodes {
		for _, d := range node.Deps {
			for _, kind := range d.Kinds {
				if kind.Kind == "" { // neither build nor dev
					needs[node.ID] = append(needs[node.ID], d.Pkg)
				}
			}
		}
	}
	found := map[string]bool{}
	for open := []string{g.Resolve.Root}; len(open) > 0; {
		next := open[0]
		open = open[1:]
		if !found[next] {
			found[next] = true
			open = append(open, needs[next]...)
		}
	}
	return found
}

// part is the heading of a component in the notices of the engine of Python, which scripts/cpython.sh writes.
// Some have no version.
var part = regexp.MustCompile(`(?m)^======== ([^(\n]+?)(?: \((\S+) (\S+)\).*)?\n`)

// Python splits the notices of the engine of Python into its components.
//
// Errors: there is no heading of a component.
func Python(notices string) ([]Component, error) {
	at := part.FindAllStringSubmatchIndex(notices, -1)
	if len(at) == 0 {
		return nil, fmt.Errorf("the notices of the engine of Python: no component: %w", ErrUnknown)
	}
	var all []Component
	for i, m := range at {
		end := len(notices)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		c := Component{Kind: "generic", Name: notices[m[2]:m[3]], Texts: []string{strings.TrimSpace(notices[m[1]:end])}}
		if m[4] >= 0 {
			c.Kind, c.Name, c.Version = "deb", notices[m[4]:m[5]], notices[m[6]:m[7]]
		}
		all = append(all, c)
	}
	return all, nil
}
