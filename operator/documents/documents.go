// Package documents reads YAML files that people write for tools of the command line: objects,
// answers and scenarios. Each error names the file, the line and the column.
package documents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kopf-wasm/kopf/internal/bounded"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/spelling"
)

// Error is a mistake in a file.
type Error struct {
	File         string
	Line, Column int // from 1
	Err          error
}

// Error starts with the place, as compilers do.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d:%d: %v", e.File, e.Line, e.Column, e.Err) }

// Unwrap returns the mistake without its place.
func (e *Error) Unwrap() error { return e.Err }

// Node is a value in a file.
type Node struct {
	File string
	node *yaml.Node
}

// lineOf finds the line in an error of the parser.
var lineOf = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// Parse reads all documents of a file. Empty documents are left out. JSON is YAML, too.
//
// Errors: *Error; bounded.ErrTooMuch, also for aliases that stand for too much, or for what contains them.
func Parse(file string, data []byte) ([]Node, error) {
	if len(data) > boundedfile.MaxDocument {
		return nil, fmt.Errorf("%s: %w: the file has more than %d MiB", file, bounded.ErrTooMuch, boundedfile.MaxDocument>>20)
	}
	var all []Node
	room := newExpansion()
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, syntax(file, data, err)
		}
		if len(document.Content) > 0 && document.Content[0].ShortTag() != "!!null" {
			n := Node{file, document.Content[0]}
			if err := room.add(n); err != nil {
				return nil, err
			}
			all = append(all, n)
		}
	}
}

// syntax returns an error of the parser with its place: the first character of the line, or a
// tab, which YAML does not allow there.
func syntax(file string, data []byte, err error) error {
	text := err.Error()
	line := 1
	if found := lineOf.FindStringSubmatch(text); found != nil {
		if n, err := strconv.Atoi(found[1]); err == nil {
			line = max(n, 1)
		}
		text = text[len(found[0]):]
	}
	lines := bytes.Split(data, []byte("\n"))
	column := 1
	if line <= len(lines) {
		before := lines[line-1]
		column += len(before) - len(bytes.TrimLeft(before, " "))
	}
	return &Error{file, line, column, errors.New("invalid YAML: " + text)}
}

// Errorf returns an error about the node.
func (n Node) Errorf(format string, args ...any) error {
	return &Error{n.File, n.node.Line, n.node.Column, fmt.Errorf(format, args...)}
}

// Place returns FILE:LINE:COLUMN.
func (n Node) Place() string { return fmt.Sprintf("%s:%d:%d", n.File, n.node.Line, n.node.Column) }

// Line is the line of the node, from 1.
func (n Node) Line() int { return n.node.Line }

// Exists reports whether the node was found in its file.
func (n Node) Exists() bool { return n.node != nil }

// IsText reports whether the node is one value, not a mapping or a list.
func (n Node) IsText() bool { return n.resolved().Kind == yaml.ScalarNode }

// IsMapping reports whether the node is a mapping.
func (n Node) IsMapping() bool { return n.resolved().Kind == yaml.MappingNode }

func (n Node) resolved() *yaml.Node {
	if n.node.Kind == yaml.AliasNode {
		return n.node.Alias
	}
	return n.node
}

func (n Node) kind() string {
	switch node := n.resolved(); node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.DocumentNode, yaml.AliasNode:
		return "a document"
	case yaml.ScalarNode:
		return strconv.Quote(node.Value)
	}
	return "nothing"
}

// maxDepth bounds the levels of nesting, also through aliases.
const maxDepth = 100

// Value returns the node as JSON has it: numbers are json.Number, times are texts.
func (n Node) Value() (any, error) { return n.value(0) }

func (n Node) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, n.Errorf("more than %d levels of nesting", maxDepth)
	}
	node := n.resolved()
	switch node.Kind {
	case yaml.MappingNode:
		object := dicts.Object{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := Node{n.File, node.Content[i]}
			if _, twice := object[key.node.Value]; twice {
				return nil, key.Errorf("the key %q is set twice", key.node.Value)
			}
			value, err := Node{n.File, node.Content[i+1]}.value(depth + 1)
			if err != nil {
				return nil, err
			}
			object[key.node.Value] = value
		}
		return object, nil
	case yaml.SequenceNode:
		list := make([]any, len(node.Content))
		for i, item := range node.Content {
			var err error
			if list[i], err = (Node{n.File, item}).value(depth + 1); err != nil {
				return nil, err
			}
		}
		return list, nil
	default:
		return n.scalar(node)
	}
}

func (n Node) scalar(node *yaml.Node) (any, error) {
	switch node.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		var on bool
		if err := node.Decode(&on); err != nil {
			return nil, n.Errorf("%q is neither true nor false", node.Value)
		}
		return on, nil
	case "!!int":
		var number int64
		if err := node.Decode(&number); err != nil {
			return nil, n.Errorf("the number %s is too large", node.Value)
		}
		return json.Number(strconv.FormatInt(number, 10)), nil
	case "!!float":
		var number float64
		if err := node.Decode(&number); err != nil || math.IsInf(number, 0) || math.IsNaN(number) {
			return nil, n.Errorf("the number %s has no form in JSON", node.Value)
		}
		return json.Number(strconv.FormatFloat(number, 'g', -1, 64)), nil
	}
	return node.Value, nil
}

// Object returns the node as a JSON object.
func (n Node) Object() (dicts.Object, error) {
	value, err := n.Value()
	if err != nil {
		return nil, err
	}
	object, ok := value.(dicts.Object)
	if !ok {
		return nil, n.Errorf("%s where an object is expected", n.kind())
	}
	return object, nil
}

// Text returns the node as a text.
func (n Node) Text() (string, error) {
	node := n.resolved()
	if node.Kind != yaml.ScalarNode || node.ShortTag() == "!!null" {
		return "", n.Errorf("%s where a text is expected", n.kind())
	}
	return node.Value, nil
}

// Int returns the node as a whole number that is not negative.
func (n Node) Int() (int, error) {
	number, err := strconv.Atoi(n.resolved().Value)
	if err != nil || number < 0 {
		return 0, n.Errorf("%s where a whole number is expected", n.kind())
	}
	return number, nil
}

// Bool returns the node as a boolean.
func (n Node) Bool() (bool, error) {
	value, err := n.Value()
	is, ok := value.(bool)
	if err == nil && !ok {
		err = n.Errorf("%s where true or false is expected", n.kind())
	}
	return is, err
}

// Items returns the items of a list. One value that is not a list counts as a list of it.
func (n Node) Items() []Node {
	node := n.resolved()
	if node.Kind != yaml.SequenceNode {
		return []Node{n}
	}
	items := make([]Node, len(node.Content))
	for i, item := range node.Content {
		items[i] = Node{n.File, item}
	}
	return items
}

// List returns the items of a list, and an error for anything else.
func (n Node) List() ([]Node, error) {
	if n.resolved().Kind != yaml.SequenceNode {
		return nil, n.Errorf("%s where a list is expected", n.kind())
	}
	return n.Items(), nil
}

// Fields returns the values of a mapping by their keys. It refuses keys that are not known.
func (n Node) Fields(known ...string) (map[string]Node, error) {
	node := n.resolved()
	if node.Kind != yaml.MappingNode {
		return nil, n.Errorf("%s where a mapping is expected, with any of %s", n.kind(), strings.Join(known, ", "))
	}
	fields := map[string]Node{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := Node{n.File, node.Content[i]}
		name := key.node.Value
		if !slices.Contains(known, name) {
			return nil, key.Errorf("unknown key %q%s", name, spelling.Meant(name, known))
		}
		if _, twice := fields[name]; twice {
			return nil, key.Errorf("the key %q is set twice", name)
		}
		fields[name] = Node{n.File, node.Content[i+1]}
	}
	return fields, nil
}

// Entry is one key of a mapping with its value.
type Entry struct{ Key, Value Node }

// Entries returns the keys of a mapping with their values, in their order.
func (n Node) Entries() ([]Entry, error) {
	node := n.resolved()
	if node.Kind != yaml.MappingNode {
		return nil, n.Errorf("%s where a mapping is expected", n.kind())
	}
	var all []Entry
	for i := 0; i+1 < len(node.Content); i += 2 {
		all = append(all, Entry{Node{n.File, node.Content[i]}, Node{n.File, node.Content[i+1]}})
	}
	return all, nil
}

// Texts returns a mapping of texts to texts.
func (n Node) Texts() (map[string]string, error) {
	entries, err := n.Entries()
	if err != nil {
		return nil, err
	}
	all := make(map[string]string, len(entries))
	for _, entry := range entries {
		key, err := entry.Key.Text()
		if err != nil {
			return nil, err
		}
		if all[key], err = entry.Value.Text(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Duration returns a time span: 90s, 1h30m, 7d, or a number of seconds.
func (n Node) Duration() (time.Duration, error) {
	d, err := ParseDuration(n.resolved().Value)
	if err != nil {
		return 0, n.Errorf("%s is not a time span: write 90s, 15m, 12h or 7d", n.kind())
	}
	return d, nil
}

var errDuration = errors.New("not a time span")

// ParseDuration is time.ParseDuration with days (7d, 1d12h) and plain seconds.
func ParseDuration(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds >= 0 && seconds < math.MaxInt64/1e9 {
		return time.Duration(seconds * float64(time.Second)), nil
	}
	var days time.Duration
	if before, rest, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.Atoi(before)
		if err != nil || n < 0 || n > 100_000 {
			return 0, errDuration
		}
		if days, text = time.Duration(n)*24*time.Hour, rest; rest == "" {
			return days, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > math.MaxInt64-days {
		return 0, errDuration
	}
	return days + d, nil
}
