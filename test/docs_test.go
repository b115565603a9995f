package test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// pkg is a package as one folder has it: a folder may also hold its external tests.
type pkg struct{ folder, name string }

// Each package has exactly one package comment. Two of them would be shown one
// after another, in an arbitrary order.
func TestPackageComments(t *testing.T) {
	files, err := goFiles("..")
	if err != nil {
		t.Fatal(err)
	}
	sources, tests := map[pkg][]string{}, map[pkg][]string{} // the comments by package
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		into, p := sources, pkg{filepath.Dir(path), file.Name.Name}
		if strings.HasSuffix(path, "_test.go") {
			into = tests
		}
		into[p] = append(into[p], file.Doc.Text())
	}
	for p, comments := range tests {
		if sources[p] == nil && !strings.HasSuffix(p.name, "_test") { // a package of tests only
			sources[p] = comments
		}
	}
	for p, comments := range sources {
		if problem := commentProblem(p.name, comments); problem != "" {
			t.Errorf("package %s in %s: %s", p.name, p.folder, problem)
		}
	}
	if len(sources) == 0 {
		t.Error("no packages are found")
	}
}

// commentProblem says what is wrong with the package comments of the files of a
// package; most of them are empty.
func commentProblem(name string, comments []string) string {
	var found []string
	for _, text := range comments {
		if text != "" {
			found = append(found, text)
		}
	}
	switch {
	case len(found) == 0:
		return "there is no package comment"
	case len(found) > 1:
		return "there is more than one package comment"
	case name != "main" && !strings.HasPrefix(found[0], "Package "+name+" "):
		return `the package comment does not begin with "Package ` + name + `"`
	}
	return ""
}

func TestCommentProblem(t *testing.T) {
	tests := []struct {
		name     string
		pkg      string
		comments []string
		bad      bool
	}{
		{"one comment", "p", []string{"", "Package p is.\n"}, false},
		{"none", "p", []string{"", ""}, true},
		{"two", "p", []string{"Package p is.\n", "Package p was.\n"}, true},
		{"of another package", "p", []string{"Package pp is.\n"}, true},
		{"a program", "main", []string{"Kopf runs operators.\n"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := commentProblem(tt.pkg, tt.comments); (got != "") != tt.bad {
				t.Errorf("problem = %q, want any: %v", got, tt.bad)
			}
		})
	}
}
