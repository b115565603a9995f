package docs

import (
	"encoding/json"
	"errors"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/stores"
)

var update = flag.Bool("update", false, "rewrite the help texts in docs/cli.md")

// commands are all commands of the program, as their help is called.
var commands = []string{"kopf", "kopf new", "kopf build", "kopf dev", "kopf doctor", "kopf run", "kopf serve", "kopf freeze", "kopf resume", "kopf inspect", "kopf manifest", "kopf crd", "kopf invoke", "kopf test", "kopf replay", "kopf annotate", "kopf push", "kopf pull", "kopf ls", "kopf rm", "kopf save", "kopf load", "kopf sign", "kopf verify", "kopf get", "kopf describe", "kopf explain", "kopf logs", "kopf retry", "kopf version"}

// helpOf matches the help text of a command in docs/cli.md: a fenced block after
// a comment with the command.
func helpOf(command string) *regexp.Regexp {
	return regexp.MustCompile("(?s)(<!-- " + command + " --help -->\n```text\n)(.*?)(```\n)")
}

// docs/cli.md shows the help texts as they are, and each flag has a row in a table.
// With -update, the texts are rewritten.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	program := buildProgram(t)
	cli := manual(t, "cli.md")
	for _, command := range commands {
		args := append(strings.Fields(command)[1:], "--help")
		help, err := exec.CommandContext(t.Context(), program, args...).Output()
		if err != nil {
			t.Fatalf("%s --help: %v", command, err)
		}
		pattern := helpOf(command)
		shown := pattern.FindStringSubmatch(cli.text)
		if shown == nil {
			t.Errorf("docs/cli.md has no help text of %s", command)
			continue
		}
		if *update {
			cli.text = strings.Replace(cli.text, shown[0], shown[1]+string(help)+shown[3], 1)
		} else if diff := cmp.Diff(shown[2], string(help)); diff != "" {
			t.Errorf("help of %s in docs/cli.md (-docs +program; rewrite it with -update):\n%s", command, diff)
		}
		for _, flag := range regexp.MustCompile(`--[a-z][a-z-]*`).FindAllString(flagsOf(string(help)), -1) {
			if !hasRow(cli.text, flag) {
				t.Errorf("docs/cli.md: no table has a row for the flag %s of %s", flag, command)
			}
		}
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root, cli.path), []byte(cli.text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// flagsOf is the list of flags in a help text, without what explains them.
func flagsOf(help string) string {
	var names strings.Builder
	for line := range strings.Lines(help) { // some commands have several lists
		if head, _, _ := strings.Cut(strings.TrimLeft(line, " "), "  "); strings.HasPrefix(head, "-") {
			names.WriteString(head + "\n")
		}
	}
	return names.String()
}

// hasRow tells whether a table has a row whose first cell names something as code.
func hasRow(text, name string) bool {
	return regexp.MustCompile("(?m)^\\| [^|]*`" + regexp.QuoteMeta(name) + "[` ][^|]*\\|").MatchString(text)
}

// buildProgram builds kopf from the current sources.
func buildProgram(t *testing.T) string {
	t.Helper()
	for _, path := range files(t, "cmd/kopf", ".go") {
		read(t, path) // so that the cache of go test knows
	}
	program := filepath.Join(t.TempDir(), "kopf")
	goCommand(t, "cmd/kopf", nil, "build", "-o", program, ".")
	if t.Failed() {
		t.FailNow()
	}
	return program
}

// Each setting has a row in docs/configuration.md, with its class and its default.
func TestSettings(t *testing.T) {
	text := manual(t, "configuration.md").text
	defaults := defaultSettings(t)
	for _, name := range settings.Names() {
		row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(name) + "` \\| ([a-z]+) \\| ([^|]+) \\|").FindStringSubmatch(text)
		if row == nil {
			t.Errorf("docs/configuration.md: no table has a row for the setting %s", name)
			continue
		}
		if class, _ := settings.ClassOf(name); row[1] != string(class) {
			t.Errorf("docs/configuration.md: the class of %s is %s, not %s", name, class, row[1])
		}
		shown := strings.Trim(row[2], "`")
		if want, ok := defaults[name]; ok && shown != want && !abridged(shown, want) {
			t.Errorf("docs/configuration.md: the default of %s is %s, not %s", name, want, shown)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+\\.[a-z_]+)` \\|").FindAllStringSubmatch(text, -1) {
		if _, ok := settings.ClassOf(row[1]); !ok {
			t.Errorf("docs/configuration.md: there is no setting %s", row[1])
		}
	}
}

// defaultSettings are the defaults as the table writes them.
func defaultSettings(t *testing.T) map[string]string {
	t.Helper()
	data, err := settings.Default().JSON()
	var values map[string]json.RawMessage
	if err != nil || json.Unmarshal(data, &values) != nil {
		t.Fatalf("%s: %v", data, err)
	}
	shown := map[string]string{}
	for name, value := range values {
		shown[name] = strings.ReplaceAll(strings.Trim(string(value), "[]\""), ",", ", ")
		if shown[name] == "" {
			shown[name] = "none"
		}
	}
	return shown
}

// abridged tells whether a list is shown without its middle.
func abridged(shown, want string) bool {
	head, tail, ok := strings.Cut(shown, ", … ")
	return ok && strings.HasPrefix(want, head+", ") && strings.HasSuffix(want, ", "+tail)
}

// Each setting is set by some test of what it does, or by a recorded case.
func TestSettingsAreTested(t *testing.T) {
	var tests strings.Builder
	for _, folder := range []string{"reactor", "test/e2e", "test/conformance/cases"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			own := strings.Contains(path, "reactor/settings/")
			if err != nil || entry.IsDir() || own || !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".yaml") {
				return err
			}
			data, err := os.ReadFile(path)
			tests.Write(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range settings.Names() {
		if !strings.Contains(tests.String(), name+`"`) && !strings.Contains(tests.String(), name+":") {
			t.Errorf("no test sets %s", name)
		}
	}
}

// Each limit of the host is in docs/sandbox.md, with the default that its comment tells.
func TestLimits(t *testing.T) {
	text := manual(t, "sandbox.md").text
	limits := limitsOf(t)
	if len(limits) == 0 {
		t.Fatal("host.Options is not found")
	}
	for name, value := range limits {
		row := regexp.MustCompile("(?m)^\\| `" + name + "` \\|.*\\|$").FindString(text)
		if !strings.Contains(row, "| "+value+" |") {
			t.Errorf("docs/sandbox.md: no row with `%s` and %q; there is: %s", name, value, row)
		}
	}
}

var defaultOf = regexp.MustCompile(`Defaults?: ([^.]+)\.`)

// limitsOf are the fields of host.Options that are numbers or times, and their defaults.
func limitsOf(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", read(t, "host/options.go"), parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	limits := map[string]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.TypeSpec)
		if !ok || spec.Name.Name != "Options" {
			return true
		}
		var defaults []string // of this field, and of those that share its comment
		for _, field := range spec.Type.(*ast.StructType).Fields.List {
			if match := defaultOf.FindStringSubmatch(field.Doc.Text()); match != nil {
				defaults = strings.Split(strings.ReplaceAll(match[1], "\n", " "), " and ")
			}
			if isLimit(field.Type) && len(defaults) > 0 {
				limits[field.Names[0].Name], defaults = defaults[0], defaults[1:]
			}
		}
		return false
	})
	return limits
}

// isLimit tells int and time.Duration.
func isLimit(typ ast.Expr) bool {
	switch typ := typ.(type) {
	case *ast.Ident:
		return typ.Name == "int"
	case *ast.SelectorExpr:
		return typ.Sel.Name == "Duration"
	}
	return false
}

// The forms of storages in docs/configuration.md are taken as they are.
func TestStorages(t *testing.T) {
	found := 0
	for _, b := range manual(t, "configuration.md").blocks() {
		if b.lang != "json" {
			continue
		}
		for line := range strings.Lines(b.text) {
			found++
			_, progressErr := stores.NewProgress([]byte(line))
			_, diffBaseErr := stores.NewDiffBase([]byte(line))
			if progressErr != nil && diffBaseErr != nil {
				t.Errorf("docs/configuration.md:%d: %s: %v", b.line, line, errors.Join(progressErr, diffBaseErr))
			}
		}
	}
	if found != 5 {
		t.Errorf("docs/configuration.md has %d forms of storages, want 5", found)
	}
}
