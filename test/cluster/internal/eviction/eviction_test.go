package eviction

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSameAsInKubernetes: what this package declares is declared by Kubernetes in the same words.
func TestSameAsInKubernetes(t *testing.T) {
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	cmd.Env = append(cmd.Environ(), "GOWORK=off")
	folder, err := cmd.Output()
	if err != nil {
		t.Fatalf("the folder of k8s.io/kubernetes: %v", err)
	}
	theirs := declarations(t, filepath.Join(strings.TrimSpace(string(folder)), "pkg/kubelet/eviction/helpers.go"))
	ours := declarations(t, "eviction.go")
	if len(ours) != 2 {
		t.Errorf("%d declarations, want a constant and a function", len(ours))
	}
	for name, text := range ours {
		if text != theirs[name] {
			t.Errorf("%s is\n%s\nin Kubernetes it is\n%s", name, text, theirs[name])
		}
	}
}

// declarations returns the texts of the constants and functions of a file by their names.
func declarations(t *testing.T, path string) map[string]string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	add := func(name string, node any) {
		var text bytes.Buffer
		if err := printer.Fprint(&text, set, node); err != nil {
			t.Fatal(err)
		}
		found[name] = text.String()
	}
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			add(d.Name.Name, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if value, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.CONST {
					add(value.Names[0].Name, value)
				}
			}
		}
	}
	return found
}
