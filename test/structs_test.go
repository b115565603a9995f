package test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Structs with more need a reason in RATIONALE.md.
const (
	fewFields  = 15
	fewMethods = 20
)

// TestLargeStructsHaveAReason: the section of RATIONALE.md about large structs names all of them, as
// `package.Type`, and no others.
func TestLargeStructsHaveAReason(t *testing.T) {
	large := map[string]string{}
	for _, folder := range []string{"abi", "artifacts", "cmd", "guest-sdks", "host", "hosting", "internal", "operator", "reactor", "stores", "webhooks"} {
		files, err := goFiles(filepath.Join("..", folder))
		if err != nil {
			t.Fatal(err)
		}
		structs := map[string]*size{} // by folders and types
		for _, file := range files {
			if !forTests(file) {
				measureStructs(t, file, structs)
			}
		}
		for name, s := range structs {
			if s.fields > fewFields || s.methods > fewMethods {
				large[filepath.Base(filepath.Dir(name))+"."+filepath.Base(name)] = fmt.Sprintf("%d fields and %d methods", s.fields, s.methods)
			}
		}
	}
	text, err := os.ReadFile("../RATIONALE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n### Which structs have more than 15 fields or 20 methods, and why?\n")
	section, _, found := strings.Cut(section, "\n### ")
	if !found {
		t.Fatal("RATIONALE.md has no section about large structs")
	}
	words := strings.Split(section, "`")
	named := map[string]bool{}
	for i := 1; i < len(words); i += 2 {
		named[words[i]] = true
	}
	for _, name := range slices.Sorted(maps.Keys(large)) {
		if !named[name] {
			t.Errorf("%s has %s; RATIONALE.md gives no reason", name, large[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if large[name] == "" {
			t.Errorf("RATIONALE.md gives a reason for %s, which is small or does not exist", name)
		}
	}
}

// size is that of a struct.
type size struct{ fields, methods int }

// measureStructs adds the structs of a file, and its methods, whose types may be in other files.
func measureStructs(t *testing.T, path string, structs map[string]*size) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string) *size {
		name = filepath.Join(filepath.Dir(path), name)
		if structs[name] == nil {
			structs[name] = &size{}
		}
		return structs[name]
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncDecl:
			if node.Recv != nil {
				of(receiver(node.Recv.List[0].Type)).methods++
			}
			return false
		case *ast.TypeSpec:
			if s, ok := node.Type.(*ast.StructType); ok {
				of(node.Name.Name).fields += countFields(s)
			}
		}
		return true
	})
}

func countFields(s *ast.StructType) (n int) {
	for _, field := range s.Fields.List {
		n += max(len(field.Names), 1) // an embedded one has no name
	}
	return n
}

// receiver is the name of the type that a method belongs to.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
