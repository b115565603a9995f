// Package boundedyaml decodes untrusted YAML. The decoder compares all keys of a mapping in
// pairs, and creates an error for each equal pair: 4 KiB of equal keys allocate 160 MiB.
// This package therefore checks the structure of a document first.
package boundedyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	"github.com/kopf-wasm/kopf/internal/bounded"
)

// Limits of a document. Real documents stay far below.
const (
	maxMarks = 100_000 // words and signs: a value has at least one of them
	maxDepth = 50      // levels of nesting
	maxKeys  = 1000    // keys of one mapping
)

// Decode decodes one document into a value. It refuses unknown keys, aliases and further
// documents. An empty input counts as an empty document.
//
// Errors: bounded.ErrTooMuch, and those of the decoder.
func Decode(data []byte, into any) error {
	if err := Check(data); err != nil {
		return err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// Check refuses documents that are expensive to decode: with too many values, with too many
// keys in one mapping, with too many levels, or with aliases. It also refuses equal keys and
// a second document.
//
// Errors: bounded.ErrTooMuch, and those of the parser.
func Check(data []byte) error {
	if countMarks(data) > maxMarks {
		return fmt.Errorf("%w: more than %d words and signs", bounded.ErrTooMuch, maxMarks)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	if err := check(&document, 0); err != nil {
		return err
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one document: only one is read")
	}
	return nil
}

// countMarks counts the bytes that are neither letters, digits nor signs of base64. A run of
// spaces counts as one.
func countMarks(data []byte) int {
	marks, before := 0, byte(0)
	for _, c := range data {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '='
		if !plain && (c != ' ' || before != ' ') {
			marks++
		}
		before = c
	}
	return marks
}

func check(n *yaml.Node, depth int) error {
	switch {
	case depth > maxDepth:
		return fmt.Errorf("line %d: %w: more than %d levels of nesting", n.Line, bounded.ErrTooMuch, maxDepth)
	case n.Kind == yaml.AliasNode:
		return fmt.Errorf("line %d: aliases (*%.40s) are not supported: repeat the value", n.Line, n.Value)
	case n.Kind == yaml.MappingNode && len(n.Content) > 2*maxKeys:
		return fmt.Errorf("line %d: %w: a mapping with more than %d keys", n.Line, bounded.ErrTooMuch, maxKeys)
	}
	seen := map[string]int{}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if child.Kind != yaml.ScalarNode {
				return fmt.Errorf("line %d: a key is not a text", child.Line)
			}
			if line, twice := seen[child.Value]; twice {
				return fmt.Errorf("line %d: the key %.40q is already set in line %d", child.Line, child.Value, line)
			}
			seen[child.Value] = child.Line
		}
		if err := check(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}
