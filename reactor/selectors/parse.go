package selectors

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
)

// ErrImpossible means that a selector contradicts itself, or that it can never match a
// resource.
var ErrImpossible = errors.New("impossible resource selector")

// Parse parses all notations of Kopf: names alone, with dots, or after a group and a
// version, in up to three positional arguments; parts by keyword; or both, if they do not
// contradict each other.
//
// Errors: ErrImpossible, which shows the selector and names the argument.
//
// See https://docs.kopf.dev/en/latest/resources/
func Parse(spec abi.Selector) (Selector, error) {
	var b builder
	err := b.positional(spec.Args)
	if err == nil {
		err = b.keywords(spec)
	}
	if err == nil {
		err = b.verify()
	}
	if err != nil {
		return Selector{}, fmt.Errorf("%w %s: %w", ErrImpossible, show(spec), err)
	}
	return b.selector, nil
}

func show(spec abi.Selector) string {
	text, err := json.Marshal(spec)
	if err != nil {
		return fmt.Sprintf("%q", spec.Args) // fails if an argument is not JSON
	}
	return string(text)
}

// builder collects the parts of a selector from its arguments.
type builder struct {
	selector Selector
	names    []string // all given names, for messages
}

// argument is a positional argument: a text, or Everything.
type argument struct {
	text       string
	everything bool
	number     int // starts at 1; for messages
}

func (b *builder) positional(raw []abi.Raw) error {
	args, err := readArguments(raw)
	if err != nil {
		return err
	}
	switch len(args) {
	case 0:
	case 1:
		b.single(args[0])
	case 2:
		b.groupOf(args[0])
		b.named(args[1])
	default:
		b.group(args[0].text)
		b.selector.version = args[1].text
		b.named(args[2])
	}
	return checkArguments(args)
}

func readArguments(raw []abi.Raw) ([]argument, error) {
	if len(raw) > 3 {
		return nil, fmt.Errorf("%d positional arguments, but there can be three at most: group, version, name", len(raw))
	}
	args := make([]argument, len(raw))
	for i, value := range raw {
		args[i].number = i + 1
		if isEverything(value) {
			args[i].everything = true
			if i != len(raw)-1 {
				return nil, fmt.Errorf("argument %d: EVERYTHING can only be the last one", i+1)
			}
			continue
		}
		var text *string
		if err := json.Unmarshal(value, &text); err != nil || text == nil {
			return nil, fmt.Errorf("argument %d: %s is neither a string nor EVERYTHING", i+1, value)
		}
		args[i].text = *text
	}
	return args, nil
}

func isEverything(value abi.Raw) bool {
	var marker map[string]any
	return json.Unmarshal(value, &marker) == nil && len(marker) == 1 && marker["$"] == "EVERYTHING"
}

// checkArguments rejects arguments that Kopf accepts but never matches.
func checkArguments(args []argument) error {
	for i, arg := range args {
		isVersion := len(args) == 3 && i == 1
		isGroupVersion := len(args) == 2 && i == 0
		switch _, version, slash := strings.Cut(arg.text, "/"); {
		case slash && !isGroupVersion:
			return fmt.Errorf("argument %d: %q has a slash: "+
				`"group/version" can only be the first of two arguments, the name is the second`, arg.number, arg.text)
		case slash && (version == "" || strings.Contains(version, "/")):
			return fmt.Errorf("argument %d: %q is not of the form group/version", arg.number, arg.text)
		case isVersion && arg.text == "":
			return fmt.Errorf("argument %d: the version is empty", arg.number)
		}
	}
	return nil
}

// dottedVersion matches name.version or name.version.group if the version has the form of
// API versions. Other versions look like the first part of a group.
var dottedVersion = regexp.MustCompile(`^[^.]*\.v\d+(?:(?:alpha|beta)\d+)?(?:\..*)?$`)

// single parses name, name.group, name.version, or name.version.group.
func (b *builder) single(arg argument) {
	name, rest, dotted := strings.Cut(arg.text, ".")
	if dottedVersion.MatchString(arg.text) {
		b.selector.version, rest, dotted = strings.Cut(rest, ".")
	}
	if dotted {
		b.group(rest)
	}
	b.named(argument{text: name, everything: arg.everything})
}

// groupOf parses the first of two arguments: group, group/version, or v1, the version of
// the core API.
func (b *builder) groupOf(arg argument) {
	group, version, _ := strings.Cut(arg.text, "/")
	if arg.text == "v1" {
		group, version = "", "v1"
	}
	b.group(group)
	b.selector.version = version
}

func (b *builder) group(group string) {
	b.selector.grouped, b.selector.group = true, group
}

func (b *builder) named(arg argument) {
	if arg.everything {
		b.by(byEverything, "")
		return
	}
	b.by(byAnyName, arg.text)
}

func (b *builder) by(by criterion, name string) {
	b.selector.by, b.selector.name = by, name
	if by != byEverything && by != byFunction {
		b.names = append(b.names, fmt.Sprintf("%s=%q", by, name))
		return
	}
	b.names = append(b.names, string(by))
}

// keywords adds the parts that are given by keyword.
func (b *builder) keywords(spec abi.Selector) error {
	if spec.Group != nil {
		if b.selector.grouped && b.selector.group != *spec.Group {
			return fmt.Errorf("group: %q contradicts %q of the positional arguments", *spec.Group, b.selector.group)
		}
		b.group(*spec.Group)
	}
	if spec.Version != "" {
		if b.selector.version != "" && b.selector.version != spec.Version {
			return fmt.Errorf("version: %q contradicts %q of the positional arguments", spec.Version, b.selector.version)
		}
		b.selector.version = spec.Version
	}
	for _, part := range []struct {
		by   criterion
		name string
	}{
		{byKind, spec.Kind},
		{byPlural, spec.Plural},
		{bySingular, spec.Singular},
		{byShortcut, spec.Shortcut},
		{byCategory, spec.Category},
	} {
		if part.name != "" {
			b.by(part.by, part.name)
		}
	}
	if spec.Function {
		b.by(byFunction, "")
	}
	return nil
}

// verify requires exactly one name.
func (b *builder) verify() error {
	switch {
	case len(b.names) == 0:
		return errors.New("no name: give a kind, plural, singular, shortcut, category, any name, or EVERYTHING")
	case len(b.names) > 1:
		return fmt.Errorf("several names, but there must be one: %s", strings.Join(b.names, ", "))
	case b.selector.by == byAnyName && b.selector.name == "":
		return errors.New("the name is empty")
	default:
		return nil
	}
}
