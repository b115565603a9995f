package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// pathMaker is the only package that makes paths of the API of Kubernetes.
const pathMaker = "reactor/apipath"

// TestOnePackageMakesPaths: guests name objects, so code that makes a path by hand sends
// requests to where a guest wants.
func TestOnePackageMakesPaths(t *testing.T) {
	seen := 0
	for _, folder := range []string{"abi", "internal", "stores", "host", "reactor", "webhooks", "operator", "hosting", "cmd"} {
		files, err := goFiles(filepath.Join("..", folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if forTests(file) || strings.HasPrefix(filepath.ToSlash(file), "../"+pathMaker+"/") {
				continue
			}
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			seen++
			for _, found := range madePaths(t, src) {
				t.Errorf("%s makes a path of the API: %s; only %s may", file, found, pathMaker)
			}
		}
	}
	if seen < 100 {
		t.Errorf("%d files were read: where are the others?", seen)
	}
}

// madePaths lists what looks like a path that is made by hand: a literal with a part of
// one, a conversion to apipath.Path, and a sum or a format with one. Imports, and the
// examples in messages, are none.
func madePaths(t *testing.T, src []byte) (found []string) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if text, err := strconv.Unquote(node.Value); err == nil && isPathPart(text) {
				found = append(found, node.Value)
			}
		case *ast.CallExpr:
			if isPathType(node.Fun) {
				found = append(found, "a conversion to apipath.Path")
			}
		case *ast.BinaryExpr:
			if node.Op == token.ADD && (isPathConstant(node.X) || isPathConstant(node.Y)) {
				found = append(found, "a sum with a constant of apipath")
			}
		}
		return true
	})
	return found
}

// isPathPart tells literals that are parts of paths. A sentence that shows a path has spaces.
func isPathPart(text string) bool {
	if strings.Contains(text, " ") {
		return false
	}
	return text == "/api" || text == "/apis" ||
		strings.HasPrefix(text, "/api/") || strings.HasPrefix(text, "/apis/") || strings.Contains(text, "/namespaces/")
}

func isPathType(fun ast.Expr) bool {
	selector, ok := fun.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "Path" && isPackage(selector.X, "apipath")
}

func isPathConstant(x ast.Expr) bool {
	selector, ok := x.(*ast.SelectorExpr)
	return ok && isPackage(selector.X, "apipath")
}

func isPackage(x ast.Expr, name string) bool {
	ident, ok := x.(*ast.Ident)
	return ok && ident.Name == name
}

// The search itself must be able to fail.
func TestMadePathsAreFound(t *testing.T) {
	for _, tt := range []struct {
		code  string
		found bool
	}{
		{`x := "/api/v1/namespaces/" + ns + "/events"`, true},
		{`x := "/apis/" + group`, true},
		{`x := fmt.Sprintf("/api/v1/%s", plural)`, true},
		{`x := fmt.Sprintf("%s/namespaces/%s", root, ns)`, true},
		{`x := strings.Join([]string{"/apis", group}, "/")`, true},
		{`x := apipath.Path(name)`, true},
		{`x := apipath.Groups + group`, true},
		{`x, err := apipath.Of(apipath.Target{Version: "v1", Plural: plural})`, false},
		{`x := get(ctx, apipath.Groups)`, false},
		{`x := "paths are like /api/v1/namespaces/NAMESPACE/pods"`, false},
		{`x := "/apiary"`, false},
	} {
		src := "package p\n\nimport \"k8s.io/client-go/apis/x\"\n\nfunc f() {\n" + tt.code + "\n}\n"
		if found := madePaths(t, []byte(src)); (len(found) > 0) != tt.found {
			t.Errorf("%s: found %q", tt.code, found)
		}
	}
}
