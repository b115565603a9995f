package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/abi/options"
)

// namesOf are the names of all options.
func namesOf() []string {
	var names []string
	for _, o := range options.Table {
		names = append(names, o.Name)
	}
	return names
}

// TestOptionsOfMessages checks that the message that declares a handler has the options of
// the table, and nothing else. The schema is made of the message.
func TestOptionsOfMessages(t *testing.T) {
	t.Parallel()
	var fields []string
	message := reflect.TypeFor[abi.Handler]()
	for field := range message.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields = append(fields, name)
		o, ok := options.Find(name)
		if !ok {
			t.Errorf("option %s is not in the table", name)
			continue
		}
		kind := field.Type.Kind()
		if kind == reflect.Pointer {
			kind = field.Type.Elem().Kind()
		}
		if want, fixed := map[string]reflect.Kind{"bool": reflect.Bool, "seconds": reflect.Float64, "string": reflect.String, "integer ≥ 0": reflect.Int}[o.Type]; fixed && kind != want {
			t.Errorf("option %s is a %s in the message, and %q in the table", name, kind, o.Type)
		}
	}
	for _, name := range namesOf() {
		if !slices.Contains(fields, name) {
			t.Errorf("option %s is in the table, but not in the message", name)
		}
	}
}

// TestOptionsOfTheSpecification checks the table of SPEC.md, and that of the manual.
func TestOptionsOfTheSpecification(t *testing.T) {
	t.Parallel()
	row := regexp.MustCompile("(?m)^\\| ((?:`[a-z_]+`(?:, )?)+) \\| ([^|]+) \\|")
	types := map[string]string{}
	_, section, _ := strings.Cut(read(t, "abi/SPEC.md"), "\n### Handlers\n")
	section, _, _ = strings.Cut(section, "\n*Filters*")
	for _, match := range row.FindAllStringSubmatch(section, -1) {
		for name := range strings.SplitSeq(match[1], ", ") {
			types[strings.Trim(name, "`")] = strings.TrimSpace(match[2])
		}
	}
	parity := parityRows(t)["Options of handlers"]
	for _, o := range options.Table {
		if slices.Contains([]string{"kind", "id", "fn"}, o.Name) {
			continue // the text above the table has them
		}
		if types[o.Name] != o.Type {
			t.Errorf("abi/SPEC.md: option %s is of the type %q, want %q", o.Name, types[o.Name], o.Type)
		}
		delete(types, o.Name)
		kopfs := o.Page != "" && o.Name != "resource" && o.Name != "operations"
		if kopfs && parity[o.Name] == nil {
			t.Errorf("docs/parity.md has no row of the option %s", o.Name)
		}
	}
	for name := range types {
		t.Errorf("abi/SPEC.md has the option %s, which is not in the table", name)
	}
}

// TestOptionsOfSDKs checks that authors can say each option in Rust and JavaScript. For Go, see
// TestGoOptionsFitTheirKinds.
func TestOptionsOfSDKs(t *testing.T) {
	t.Parallel()
	for language, file := range map[string]string{
		"rust": "guest-sdks/rust/kopf-macros/src/table.rs", "javascript": "engines/javascript/lib/options.js",
	} {
		made := filepath.Join(t.TempDir(), "table")
		command := exec.Command("go", "run", "./options/internal/tables", language, made)
		command.Dir = filepath.Join(root, "abi")
		if text, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		text, err := os.ReadFile(made)
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != read(t, file) {
			t.Errorf("%s is not the table of abi/options: run `go generate ./options` in abi", file)
		}
	}
}
