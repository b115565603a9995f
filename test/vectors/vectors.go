// Package vectors judges the pure functions of the project by recorded inputs
// and outputs of the reference. A folder of recordings has one file for each
// function; see test/conformance for how they are made.
package vectors

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Case is one recorded call of a function of the reference.
type Case struct {
	In    dicts.Object
	Out   any
	Error string // the reference's error, which stands in place of Out

	raw map[string]json.RawMessage // the texts of In's parts, with their order of keys
}

// Function is what stands for a recorded function of the reference.
type Function struct {
	// Call maps the input to the output, which is made of JSON values only.
	Call func(c Case) (any, error)

	// Equal tells whether the output is as expected. Nil is equality of the JSON.
	Equal func(c Case, got any) bool
}

// judge tells whether the function does with a case what the reference has done.
// Of errors, only the fact is compared: the texts are our own.
func (f Function) judge(c Case) (ok bool, got string) {
	out, err := f.Call(c)
	switch {
	case err != nil:
		return c.Error != "", "error: " + err.Error()
	case c.Error != "":
		return false, string(dicts.Encode(out))
	case f.Equal != nil:
		return f.Equal(c, out), string(dicts.Encode(out))
	default:
		return sameJSON(c.Out, out), string(dicts.Encode(out))
	}
}

// Mismatch is a case with another output than expected.
type Mismatch struct {
	Index             int // of the case in the file, from 0
	In, Expected, Got string
}

// FileResult is what became of one file.
type FileResult struct {
	Name       string // without the extension
	Unknown    bool   // there is no function for it
	Passed     int
	Mismatches []Mismatch
}

// Run judges all files of a folder, in the order of their names.
func Run(folder string, functions map[string]Function) ([]FileResult, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(paths) == 0 {
		return nil, errors.Join(fmt.Errorf("there are no vectors in %s", folder), err)
	}
	var results []FileResult
	for _, path := range slices.Sorted(slices.Values(paths)) {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		function, ok := functions[name]
		if !ok {
			results = append(results, FileResult{Name: name, Unknown: true})
			continue
		}
		cases, err := load(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		results = append(results, runFile(name, function, cases))
	}
	return results, nil
}

func runFile(name string, function Function, cases []Case) FileResult {
	result := FileResult{Name: name}
	for i, c := range cases {
		ok, got := function.judge(c)
		if ok {
			result.Passed++
			continue
		}
		expected := string(dicts.Encode(c.Out))
		if c.Error != "" {
			expected = "error: " + c.Error
		}
		result.Mismatches = append(result.Mismatches,
			Mismatch{Index: i, In: string(dicts.Encode(c.In)), Expected: expected, Got: got})
	}
	return result
}

// load reads the cases of one file.
func load(path string) ([]Case, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Cases []struct {
			In    json.RawMessage `json:"in"`
			Out   json.RawMessage `json:"out"`
			Error string          `json:"error"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, err
	}
	cases := make([]Case, len(file.Cases))
	for i, recorded := range file.Cases {
		c := Case{Error: recorded.Error}
		if c.In, err = dicts.DecodeObject(recorded.In); err != nil {
			return nil, fmt.Errorf("case %d: in: %w", i, err)
		}
		if err := json.Unmarshal(recorded.In, &c.raw); err != nil {
			return nil, fmt.Errorf("case %d: in: %w", i, err)
		}
		if c.Error == "" {
			if c.Out, err = dicts.Decode(recorded.Out); err != nil {
				return nil, fmt.Errorf("case %d: out: %w", i, err)
			}
		}
		cases[i] = c
	}
	return cases, nil
}

// Functions lists what is implemented, by the names of the files. Files that
// are not listed are reported as skipped.
func Functions() map[string]Function {
	all := map[string]Function{}
	for _, area := range []map[string]Function{
		dictFunctions, diffFunctions, storeFunctions, progressFunctions, causeFunctions,
		matchingFunctions, postingFunctions, indexingFunctions, webhookFunctions, resourceFunctions, hierarchyFunctions, peeringFunctions,
	} {
		maps.Copy(all, area)
	}
	return all
}
