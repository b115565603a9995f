// Command schema writes the JSON Schema of all messages of the ABI, made from the
// Go types and their comments.
//
//	go generate ./...
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
)

// messages are the messages between host and guest, by their names in the schema.
var messages = map[string]any{
	"RegisterRequest": abi.RegisterRequest{},
	"Registration":    abi.Registration{},
	"Invocation":      abi.Invocation{},
	"Questions":       abi.Questions{},
	"Answers":         abi.Answers{},
	"Step":            abi.Step{},
	"Answer":          abi.Answer{},
	"TransformResult": abi.TransformResult{},
	"Event":           abi.Event{},
}

func main() {
	text, err := generate(os.Args[1])
	if err == nil {
		err = os.WriteFile(os.Args[2], text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "schema:", err)
		os.Exit(1)
	}
}

// generate makes the schema; folder is where the sources of package abi are.
func generate(folder string) ([]byte, error) {
	comments, err := readComments(folder)
	if err != nil {
		return nil, err
	}
	g := &generator{comments: comments, definitions: map[string]any{}}
	for _, message := range messages {
		g.define(reflect.TypeOf(message))
	}
	text, err := json.MarshalIndent(map[string]any{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "Kopf ABI, version 1",
		"description": "Each message is one of the definitions. Unknown fields are ignored, except for options of handlers. See SPEC.md.",
		"$defs":       g.definitions,
	}, "", "  ")
	return append(text, '\n'), err
}

// comments holds the comments of types and fields: "Type" and "Type.Field".
type comments map[string]string

func readComments(folder string) (comments, error) {
	found := comments{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), folder+"/"+name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		found.addFile(file)
	}
	return found, nil
}

func (c comments) addFile(file *ast.File) {
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			named, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			c[named.Name.Name] = oneLine(group.Doc)
			if structure, ok := named.Type.(*ast.StructType); ok {
				c.addFields(named.Name.Name, structure)
			}
		}
	}
}

func (c comments) addFields(owner string, structure *ast.StructType) {
	for _, field := range structure.Fields.List {
		text := oneLine(field.Doc)
		if text == "" {
			text = oneLine(field.Comment)
		}
		for _, name := range field.Names {
			c[owner+"."+name.Name] = text
		}
	}
}

func oneLine(group *ast.CommentGroup) string {
	if group == nil {
		return ""
	}
	return strings.Join(strings.Fields(group.Text()), " ")
}

type generator struct {
	comments    comments
	definitions map[string]any
}

// define adds a struct to the definitions, once.
func (g *generator) define(t reflect.Type) {
	if _, ok := g.definitions[t.Name()]; ok {
		return
	}
	definition := map[string]any{"type": "object"}
	g.definitions[t.Name()] = definition
	if text := g.comments[t.Name()]; text != "" {
		definition["description"] = text
	}
	properties := map[string]any{}
	required := g.fields(t, properties)
	definition["properties"] = properties
	if len(required) > 0 {
		slices.Sort(required)
		definition["required"] = required
	}
	if t == reflect.TypeFor[abi.Handler]() {
		definition["additionalProperties"] = false
	}
}

// fields describes the fields of a struct, and of those embedded in it.
func (g *generator) fields(t reflect.Type, properties map[string]any) (required []string) {
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Anonymous {
			inner := g.fields(field.Type, properties)
			if t != reflect.TypeFor[abi.Questions]() { // there, the position of the handler is not used
				required = append(required, inner...)
			}
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		schema := g.typeOf(field.Type)
		if text := g.comments[t.Name()+"."+field.Name]; text != "" {
			schema["description"] = text
		}
		properties[name] = schema
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			required = append(required, name)
		}
	}
	return required
}

// typeOf describes a type. Pointers may be null: an absent option.
func (g *generator) typeOf(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[abi.Raw]():
		return map[string]any{}
	case reflect.TypeFor[abi.Delay]():
		return map[string]any{"type": []string{"number", "null"}}
	}
	switch t.Kind() {
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Int, reflect.Uint32:
		return map[string]any{"type": "integer"}
	case reflect.Slice:
		return map[string]any{"type": []string{"array", "null"}, "items": g.typeOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": g.typeOf(t.Elem())}
	case reflect.Pointer:
		return g.optional(t.Elem())
	}
	g.define(t)
	return map[string]any{"$ref": "#/$defs/" + t.Name()}
}

func (g *generator) optional(t reflect.Type) map[string]any {
	return map[string]any{"anyOf": []any{g.typeOf(t), map[string]any{"type": "null"}}}
}
