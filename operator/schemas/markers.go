package schemas

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// notes are what a comment in Go says about a type or a field.
type notes struct {
	text     string
	rules    dicts.Object // more of the schema
	required bool
	problem  string // a marker that cannot be read; empty: none
}

// goDoc splits a comment into its text and its markers.
func goDoc(doc *ast.CommentGroup) notes {
	n := notes{rules: dicts.Object{}}
	var lines []string
	for line := range strings.Lines(doc.Text()) {
		line = strings.TrimSpace(line)
		if marker, ok := strings.CutPrefix(line, "+"); ok {
			n.mark(marker)
			continue
		}
		lines = append(lines, line)
	}
	n.text = strings.TrimSpace(strings.Join(lines, "\n"))
	return n
}

// markers are the rules of a schema whose values are in the marker.
var markers = map[string]string{
	"Minimum": "minimum", "Maximum": "maximum", "ExclusiveMinimum": "exclusiveMinimum", "ExclusiveMaximum": "exclusiveMaximum",
	"MultipleOf": "multipleOf", "MinLength": "minLength", "MaxLength": "maxLength", "MinItems": "minItems", "MaxItems": "maxItems",
	"MinProperties": "minProperties", "MaxProperties": "maxProperties", "default": "default",
	"listType": "x-kubernetes-list-type", "mapType": "x-kubernetes-map-type", "structType": "x-kubernetes-map-type",
}

// mark adds a marker of kubebuilder to the rules. Markers of validation that are not known are a problem: the schema
// would accept what the author wants to exclude. Others are ignored.
//
// See https://book.kubebuilder.io/reference/markers/crd-validation
func (n *notes) mark(marker string) {
	name, value, _ := strings.Cut(marker, "=")
	name = strings.TrimSuffix(strings.TrimPrefix(name, "kubebuilder:"), ":") // default:=3 is default=3
	name, validates := strings.CutPrefix(name, "validation:")
	switch name {
	case "Required", "required":
		n.required = true
	case "Optional", "optional":
	case "Pattern", "Format":
		n.rules[strings.ToLower(name)] = unquoted(value)
	case "Enum":
		n.rules["enum"] = variants(value)
	case "nullable":
		n.rules["nullable"] = true
	case "listMapKey":
		n.rules = merged(n.rules, dicts.Object{"x-kubernetes-list-map-keys": []any{unquoted(value)}})
	case "pruning:PreserveUnknownFields":
		n.rules["x-kubernetes-preserve-unknown-fields"] = true
	default:
		key, known := markers[name]
		rule, isExpression := strings.CutPrefix(marker, "kubebuilder:validation:XValidation:")
		switch {
		case known:
			n.rules[key] = literal(value)
		case isExpression:
			n.express(rule)
		case validates:
			n.problem = fmt.Sprintf("the marker +%s is not known, so the schema would not have its rule", marker)
		}
	}
}

// express adds a rule in CEL: rule="…",message="…".
func (n *notes) express(text string) {
	rule := dicts.Object{}
	for rest := text; rest != ""; {
		name, value, _ := strings.Cut(rest, "=")
		quoted, err := strconv.QuotedPrefix(value)
		if err != nil || !slices.Contains([]string{"rule", "message", "messageExpression", "reason", "fieldPath"}, name) {
			n.problem = fmt.Sprintf(`the marker XValidation:%s is not understood: want rule="…", and message, messageExpression, reason or fieldPath, all in quotes`, text)
			return
		}
		rule[name] = unquoted(quoted)
		rest = strings.TrimPrefix(value[len(quoted):], ",")
	}
	n.rules = merged(n.rules, dicts.Object{"x-kubernetes-validations": []any{rule}})
}

// merged adds rules to a schema. Those in lists hold in addition to those that it has; others replace them.
func merged(schema, rules dicts.Object) dicts.Object {
	for key, value := range rules {
		before, _ := schema[key].([]any)
		if more, ok := value.([]any); ok && strings.HasPrefix(key, "x-kubernetes-") {
			value = slices.Concat(before, more)
		}
		schema[key] = value
	}
	return schema
}

// variants reads a;b or {a,b}.
func variants(text string) []any {
	separator := ";"
	if inner, ok := strings.CutPrefix(text, "{"); ok {
		text, separator = strings.TrimSuffix(inner, "}"), ","
	}
	var list []any
	for one := range strings.SplitSeq(text, separator) {
		list = append(list, literal(one))
	}
	return list
}

// unquoted is a text without its quotes, if it has some.
func unquoted(text string) string {
	if plain, err := strconv.Unquote(text); err == nil {
		return plain
	}
	return text
}

// literal is a value in JSON, or else a text.
func literal(text string) any {
	if value, err := dicts.Decode([]byte(text)); err == nil {
		return value
	}
	return unquoted(text)
}
