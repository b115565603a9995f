package schemas

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// readGo adds the types of a file in Go.
func (t *Types) readGo(path string, text []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok || general.Tok != token.TYPE {
			continue
		}
		for _, spec := range general.Specs {
			if named, ok := spec.(*ast.TypeSpec); ok && named.TypeParams == nil {
				doc := named.Doc
				if doc == nil {
					doc = general.Doc
				}
				one := goShape(named.Type)
				one.doc, _ = goDoc(doc)
				t.shapes[named.Name.Name] = one
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if index, ok := n.(*ast.IndexExpr); ok {
			if name, ok := index.Index.(*ast.Ident); ok && declaresSpecs(index.X) {
				t.handled = append(t.handled, name.Name)
			}
		}
		return true
	})
	return nil
}

// declaresSpecs reports whether a generic name has a spec as its parameter: kopf.Typed, kopf.ChangeOf.
func declaresSpecs(x ast.Expr) bool {
	selector, ok := x.(*ast.SelectorExpr)
	return ok && (selector.Sel.Name == "Typed" || strings.HasSuffix(selector.Sel.Name, "Of"))
}

// goShape returns the shape of a type in Go.
func goShape(x ast.Expr) *shape {
	switch x := x.(type) {
	case *ast.Ident:
		return goNamed(x.Name)
	case *ast.StarExpr:
		return &shape{kind: optional, element: goShape(x.X)}
	case *ast.ParenExpr:
		return goShape(x.X)
	case *ast.InterfaceType:
		return anything()
	case *ast.ArrayType:
		if name, ok := x.Elt.(*ast.Ident); ok && (name.Name == "byte" || name.Name == "uint8") {
			return leafOf("string", "format", "byte")
		}
		return &shape{kind: list, element: goShape(x.Elt)}
	case *ast.MapType:
		if name, ok := x.Key.(*ast.Ident); !ok || name.Name != "string" {
			return refused("the keys of a map must be strings")
		}
		return &shape{kind: dictionary, element: goShape(x.Value)}
	case *ast.SelectorExpr:
		return goImported(x)
	case *ast.StructType:
		return goStruct(x)
	}
	return refused("a schema cannot describe this type")
}

func goNamed(name string) *shape {
	switch name {
	case "string":
		return leafOf("string")
	case "bool":
		return leafOf("boolean")
	case "int", "int64":
		return leafOf("integer", "format", "int64")
	case "int8", "int16", "int32", "rune":
		return leafOf("integer", "format", "int32")
	case "uint", "uint8", "uint16", "uint32", "uint64", "byte":
		return leafOf("integer", "minimum", 0)
	case "float32", "float64":
		return leafOf("number")
	case "any":
		return anything()
	}
	return &shape{kind: reference, name: name}
}

// goImported returns the shape of a type of another package.
func goImported(x *ast.SelectorExpr) *shape {
	name := x.Sel.Name
	if from, ok := x.X.(*ast.Ident); ok {
		name = from.Name + "." + name
	}
	switch name {
	case "time.Time":
		return leafOf("string", "format", "date-time")
	case "kopf.Map", "json.RawMessage":
		return anything()
	}
	return refused("the type %s is declared in another package", name)
}

func goStruct(x *ast.StructType) *shape {
	s := &shape{kind: object}
	for _, f := range x.Fields.List {
		tag := ""
		if f.Tag != nil {
			text, _ := strconv.Unquote(f.Tag.Value) // the parser has accepted it
			tag = reflect.StructTag(text).Get("json")
		}
		name, _, _ := strings.Cut(tag, ",")
		doc, rules := goDoc(f.Doc)
		one := field{name: name, shape: goShape(f.Type), doc: doc, rules: rules}
		if _, ok := rules["required"]; ok {
			delete(rules, "required")
			one.required = true
		}
		switch {
		case tag == "-":
		case len(f.Names) == 0:
			one.inline = name == ""
			s.fields = append(s.fields, one)
		default:
			for _, n := range f.Names {
				if one.name = name; name == "" {
					one.name = n.Name
				}
				if n.IsExported() {
					s.fields = append(s.fields, one)
				}
			}
		}
	}
	return s
}

// goDoc splits a comment into its text and its markers.
func goDoc(doc *ast.CommentGroup) (text string, rules dicts.Object) {
	rules = dicts.Object{}
	var lines []string
	for line := range strings.Lines(doc.Text()) {
		line = strings.TrimSpace(line)
		if marker, ok := strings.CutPrefix(line, "+"); ok {
			mark(rules, marker)
			continue
		}
		lines = append(lines, line)
	}
	return strings.TrimSpace(strings.Join(lines, "\n")), rules
}

// mark adds a marker of kubebuilder to the rules of a schema. Others are ignored.
//
// See https://book.kubebuilder.io/reference/markers/crd-validation
func mark(rules dicts.Object, marker string) {
	name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(marker, "kubebuilder:"), "validation:"), "=")
	switch name {
	case "Required", "required":
		rules["required"] = true
	case "Minimum", "Maximum", "MinLength", "MaxLength", "MinItems", "MaxItems", "default":
		rules[strings.ToLower(name[:1])+name[1:]] = literal(value)
	case "Pattern", "Format":
		rules[strings.ToLower(name)] = strings.Trim(value, "`\"")
	case "Enum":
		var variants []any
		for one := range strings.SplitSeq(strings.Trim(value, "{}"), ";") {
			variants = append(variants, literal(one))
		}
		rules["enum"] = variants
	}
}

// literal is a value in JSON, or else a text.
func literal(text string) any {
	if value, err := dicts.Decode([]byte(text)); err == nil {
		return value
	}
	return strings.Trim(text, "`\"")
}
