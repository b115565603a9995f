// Package javascript_test checks the types of scripts for editors, kopf.d.ts, with the compiler of TypeScript:
// against the examples, the table of options, and the library of the engine.
package javascript_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/abi/options"
)

const root = "../.."

// problem is an error of the compiler.
var problem = regexp.MustCompile(`^(\S+)\((\d+),\d+\): error TS\d+: (.*)$`)

// compiler is the command of the compiler of TypeScript.
func compiler(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path := filepath.Join(root, ".cache", "npm", "javascript", "node_modules", "typescript", "bin", "tsc")
	if _, err := os.Stat(path); err != nil {
		t.Skip("SKIPPED: the types of scripts are not checked: `make typescript` installs the compiler, or says what is missing")
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), "node", append([]string{absolute, "--pretty", "false", "--skipDefaultLibCheck"}, args...)...)
}

// compiled compiles a file with the options of examples/jsconfig.json, and returns the errors by their lines.
func compiled(t *testing.T, name, source string) map[int]string {
	t.Helper()
	dir := t.TempDir()
	var config struct {
		Options map[string]any `json:"compilerOptions"`
		Include []string       `json:"include"`
	}
	if err := json.Unmarshal([]byte(read(t, "examples/jsconfig.json")), &config); err != nil {
		t.Fatal(err)
	}
	types, err := filepath.Abs(filepath.Join(root, "guest-sdks", "javascript", "kopf.d.ts"))
	if err != nil {
		t.Fatal(err)
	}
	config.Include = []string{name, types}
	config.Options["allowJs"] = true
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{name: source, "tsconfig.json": string(text)} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := compiler(t, "-p", ".")
	command.Dir = dir
	output, failed := command.CombinedOutput()
	problems, last := map[int]string{}, 0
	for line := range strings.SplitSeq(strings.TrimSpace(string(output)), "\n") {
		if match := problem.FindStringSubmatch(line); match != nil {
			if match[1] != name {
				t.Fatalf("%s", output)
			}
			if last, err = strconv.Atoi(match[2]); err != nil {
				t.Fatal(err)
			}
			problems[last] += match[3] + "\n"
		} else if last > 0 && strings.HasPrefix(line, " ") { // more about the error
			problems[last] += line + "\n"
		} else if line != "" {
			t.Fatalf("%s", line)
		}
	}
	if failed != nil && len(problems) == 0 {
		t.Fatalf("%v: %s", failed, output)
	}
	return problems
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestExamplesFitTheTypes(t *testing.T) {
	t.Parallel()
	command := compiler(t, "-p", filepath.Join(root, "examples", "jsconfig.json"), "--listFiles")
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	scripts, err := filepath.Glob(filepath.Join(root, "examples", "*", "*.js"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	snippets, err := filepath.Glob(filepath.Join(root, "docs", "snippets", "javascript", "*.js"))
	if err != nil || len(snippets) == 0 {
		t.Fatalf("no snippets of the manual: %v", err)
	}
	for _, script := range append(scripts, snippets...) {
		if !strings.Contains(string(output), strings.TrimPrefix(script, root)) {
			t.Errorf("examples/jsconfig.json does not include %s", script)
		}
		read(t, strings.TrimPrefix(script, root)) // so that the cache of go test knows
	}
}

func TestRightUsesAreAllowed(t *testing.T) {
	t.Parallel()
	for line, message := range compiled(t, "right.js", read(t, "test/javascript/testdata/right.js")) {
		t.Errorf("right.js:%d: %s", line, message)
	}
}

func TestWrongUsesAreRefusedLineByLine(t *testing.T) {
	t.Parallel()
	source := read(t, "test/javascript/testdata/wrong.js")
	problems := compiled(t, "wrong.js", source)
	for i, line := range strings.Split(source, "\n") {
		use, want, _ := strings.Cut(line, " // ")
		got := problems[i+1]
		switch wrong := use != "" && !strings.HasPrefix(use, "//"); {
		case wrong && want == "":
			t.Errorf("wrong.js:%d does not say what the compiler says", i+1)
		case wrong && !strings.Contains(got, want):
			t.Errorf("wrong.js:%d: the compiler says %q, want %q: %s", i+1, got, want, use)
		case !wrong && got != "":
			t.Errorf("wrong.js:%d: %s", i+1, got)
		}
	}
}

// registrations are the calls that register a handler of a kind; %s are its options.
var registrations = map[abi.Kind]string{
	abi.KindCreate:   `kopf.on.create("things", { %s }, () => undefined);`,
	abi.KindUpdate:   `kopf.on.update("things", { %s }, () => undefined);`,
	abi.KindDelete:   `kopf.on.delete("things", { %s }, () => undefined);`,
	abi.KindResume:   `kopf.on.resume("things", { %s }, () => undefined);`,
	abi.KindField:    `kopf.on.field("things", { ...{ field: "spec" }, %s }, () => undefined);`,
	abi.KindEvent:    `kopf.on.event("things", { %s }, () => undefined);`,
	abi.KindTimer:    `kopf.timer("things", { %s }, () => undefined);`,
	abi.KindDaemon:   `kopf.daemon("things", { %s }, () => undefined);`,
	abi.KindIndex:    `kopf.index("things", { %s }, () => undefined);`,
	abi.KindValidate: `kopf.on.validate("things", { %s }, () => undefined);`,
	abi.KindMutate:   `kopf.on.mutate("things", { %s }, () => undefined);`,
	abi.KindConvert:  `kopf.on.convert("things", { ...{ from: "v1", to: "v2" }, %s }, ({ body }) => body);`,
	abi.KindStartup:  `kopf.on.startup({ %s }, () => undefined);`,
	abi.KindCleanup:  `kopf.on.cleanup({ %s }, () => undefined);`,
	abi.KindLogin:    `kopf.on.login({ %s }, () => null);`,
	abi.KindProbe:    `kopf.on.probe({ %s }, () => undefined);`,
	abi.KindSub:      `kopf.subhandler({ %s }, () => undefined);`,
}

// missing are the kinds of handlers that scripts do not have.
var missing = []abi.Kind{abi.KindBackground}

// values are values of options by their types in the table.
var values = map[string]string{
	"string": `"x"`, "any": "1", "bool": "true", "seconds": "1.5", "integer ≥ 0": "1", "versions": `"v1"`,
	"`TEMPORARY`, `PERMANENT`, `IGNORED`": `"PERMANENT"`, "map of filters": `{ a: "x" }`, "function": "() => true",
	"list of strings": `["spec"]`, "filter": "1", "seconds or function": "() => 1",
	"list of `CREATE`, `UPDATE`, `DELETE`, `CONNECT`": `["CREATE"]`, "string, `*` for any": `"*"`,
}

// TestOptionsFitTheirKinds compiles each option with each kind of handlers: those of the table
// compile, and no others.
func TestOptionsFitTheirKinds(t *testing.T) {
	t.Parallel()
	kind, ok := options.Find("kind")
	if !ok {
		t.Fatal("abi/options has no kind")
	}
	type line struct {
		text string
		fits bool
	}
	var lines []line
	for _, o := range options.Table {
		if slices.Contains([]string{"kind", "fn", "resource"}, o.Name) {
			continue // the function that registers, the handler, and the other arguments say it
		}
		value, ok := values[o.Type]
		if !ok {
			t.Fatalf("no value for the option %s of the type %q", o.Name, o.Type)
		}
		for _, k := range kind.Kinds {
			if slices.Contains(missing, k) {
				continue
			}
			call, ok := registrations[k]
			if !ok {
				t.Fatalf("no function of scripts registers a handler of the kind %s", k)
			}
			for _, name := range slices.Compact([]string{o.Name, camel(o.Name)}) {
				lines = append(lines, line{fmt.Sprintf(call, name+": "+value), o.Has(k)})
			}
		}
	}
	var source strings.Builder
	for _, l := range lines {
		source.WriteString(l.text + "\n")
	}
	problems := compiled(t, "options.js", source.String())
	for i, l := range lines {
		switch got := problems[i+1]; {
		case l.fits && got != "":
			t.Errorf("%s: abi/options has it, and the types refuse it: %s", l.text, got)
		case !l.fits && got == "":
			t.Errorf("%s: the types allow it, and abi/options does not have it", l.text)
		case !l.fits && !strings.Contains(got, "does not exist in type"):
			t.Errorf("%s: refused for another reason: %s", l.text, got)
		}
	}
}

// camel is the other notation of an option.
func camel(name string) string {
	parts := strings.Split(name, "_")
	for i, part := range parts[1:] {
		parts[i+1] = strings.ToUpper(part[:1]) + part[1:]
	}
	return strings.Join(parts, "")
}

// TestNamesAreThoseOfTheEngine compares the names of the types with those of the engine's library:
// a name that is missing on one side does not compile.
func TestNamesAreThoseOfTheEngine(t *testing.T) {
	t.Parallel()
	const known = `type Known<T> = keyof { [K in keyof T as string extends K ? never : K]: true };` + "\n"
	var source strings.Builder
	source.WriteString(known)
	var whats []string
	for _, s := range surfaces {
		names := s.names(t)
		if len(names) == 0 {
			t.Errorf("%s: no names in %s", s.what, s.file)
		}
		var members strings.Builder
		for _, name := range names {
			fmt.Fprintf(&members, "%q: true, ", name)
		}
		fmt.Fprintf(&source, "export const n%d: Record<%s, true> = { %s};\n", len(whats), s.types, members.String())
		whats = append(whats, s.what)
	}
	for line, message := range compiled(t, "names.ts", source.String()) {
		if line < 2 {
			t.Fatal(message)
		}
		t.Errorf("kopf.d.ts and the engine have different names of %s: %s", whats[line-2], message)
	}
}

// surface is a part of the library that scripts see.
type surface struct {
	what, types string
	file        string         // of the library
	part        *regexp.Regexp // of the file; its group has the names
	name        *regexp.Regexp // in the part
}

var (
	method = regexp.MustCompile(`(?m)^  (?:get )?([a-z]\w*)\(`)
	member = regexp.MustCompile(`(?m)^  (\w+)(?::|,$)`)
	word   = regexp.MustCompile(`\w+`)
)

// class is the body of a class in a file of the library.
func class(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?ms)^export class ` + name + ` [^\n]*\n(.*?)^\}`)
}

var surfaces = []surface{
	{"kopf", "keyof typeof kopf", "kopf", regexp.MustCompile(`(?s)const kopf = Object\.freeze\(\{(.*?)\}\)`), word},
	{"kopf.on", "keyof typeof kopf.on", "declarations", regexp.MustCompile(`(?s)const KINDS = \[(.*?)\]`), word},
	{
		"arguments of handlers",
		"keyof kopf.Change | keyof kopf.Event | keyof kopf.Timer | keyof kopf.Daemon | keyof kopf.Indexed | keyof kopf.Review | keyof kopf.Conversion | keyof kopf.Activity | keyof kopf.Login",
		"kwargs", class("Kwargs"), regexp.MustCompile(`(?m)^  get (\w+)\(`),
	},
	{"kopf.Patch", "Known<kopf.Patch>", "patches", class("Patch"), method},
	{"kopf.Logger", "keyof kopf.Logger", "logging", class("Logger"), method},
	{"kopf.Memo", "keyof kopf.Memo", "stores", class("Memo"), method},
	{"kopf.Index", "Exclude<keyof kopf.Index, symbol>", "stores", class("Index"), method},
	{"kopf.kubernetes", "keyof typeof kopf.kubernetes", "calls", regexp.MustCompile(`(?ms)^export const kubernetes = Object\.freeze\(\{(.*?)^\}\)`), member},
	{"kopf.SelectorOptions", "keyof kopf.SelectorOptions", "declarations", regexp.MustCompile(`const SELECTORS = \[(.*?)\]`), word},
	{"console", "keyof Console", "logging", regexp.MustCompile(`(?ms)^globalThis\.console = Object\.freeze\(\{(.*?)^\}\)`), member},
}

// names are the names of a part of the library.
func (s surface) names(t *testing.T) []string {
	t.Helper()
	part := s.part.FindStringSubmatch(read(t, "engines/javascript/lib/"+s.file+".js"))
	if part == nil {
		t.Fatalf("%s: %s.js has no such part", s.what, s.file)
	}
	var names []string
	for _, match := range s.name.FindAllStringSubmatch(part[1], -1) {
		name := match[len(match)-1]
		internal := name == "constructor" || s.what == "kopf.Patch" && name == "changes"
		if !internal && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
