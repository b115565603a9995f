package schemas

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
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
				notes := goDoc(doc)
				one.doc, one.rules, one.problem = notes.text, notes.rules, cmp.Or(one.problem, notes.problem)
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
	case "time.Time", "metav1.Time", "metav1.MicroTime":
		return leafOf("string", "format", "date-time")
	case "metav1.Duration":
		return leafOf("string")
	case "resource.Quantity", "intstr.IntOrString":
		return common(x.Sel.Name)
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
		notes := goDoc(f.Doc)
		one := field{name: name, shape: goShape(f.Type), doc: notes.text, rules: notes.rules, required: notes.required}
		if notes.problem != "" {
			one.shape = refused("%s", notes.problem)
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
