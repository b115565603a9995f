package docs

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/abi/options"
)

const golang = "github.com/kopf-wasm/kopf/guest-sdks/go/kopf"

// registrations are the calls that register a handler of a kind; %s is an option.
var registrations = map[abi.Kind][]string{
	abi.KindCreate:     {"kopf.OnCreate(name, change, %s)", "typed.OnCreate(typedChange, %s)"},
	abi.KindUpdate:     {"kopf.OnUpdate(name, change, %s)", "typed.OnUpdate(typedChange, %s)"},
	abi.KindDelete:     {"kopf.OnDelete(name, change, %s)", "typed.OnDelete(typedChange, %s)"},
	abi.KindResume:     {"kopf.OnResume(name, change, %s)", "typed.OnResume(typedChange, %s)"},
	abi.KindField:      {"kopf.OnField(name, change, %s)", "typed.OnField(typedChange, %s)"},
	abi.KindEvent:      {"kopf.OnEvent(name, event, %s)", "typed.OnEvent(typedEvent, %s)"},
	abi.KindTimer:      {"kopf.OnTimer(name, timer, %s)", "typed.OnTimer(typedTimer, %s)"},
	abi.KindDaemon:     {"kopf.OnDaemon(name, daemon, %s)", "typed.OnDaemon(typedDaemon, %s)"},
	abi.KindIndex:      {"kopf.OnIndex(name, index, %s)"},
	abi.KindValidate:   {"kopf.OnValidate(name, review, %s)", "typed.OnValidate(typedReview, %s)"},
	abi.KindMutate:     {"kopf.OnMutate(name, review, %s)", "typed.OnMutate(typedReview, %s)"},
	abi.KindConvert:    {`kopf.OnConvert(name, "v1", "v2", convert, %s)`},
	abi.KindStartup:    {"kopf.OnStartup(activity, %s)"},
	abi.KindCleanup:    {"kopf.OnCleanup(activity, %s)"},
	abi.KindLogin:      {"kopf.OnLogin(activity, %s)"},
	abi.KindProbe:      {"kopf.OnProbe(activity, %s)"},
	abi.KindBackground: {"kopf.OnBackground(background, %s)"},
	abi.KindSub:        {`kopf.Sub("id", change, %s)`, `new(kopf.Change).Sub("id", change, %s)`},
}

// prelude declares what the registrations are called with.
const prelude = `package snippet

import "` + golang + `"

type spec struct{}

const name = "things"

var (
	change      kopf.ChangeFunc
	event       kopf.EventFunc
	timer       kopf.TimerFunc
	daemon      kopf.DaemonFunc
	index       kopf.IndexFunc
	review      kopf.ReviewFunc
	convert     kopf.ConvertFunc
	activity    kopf.ActivityFunc
	background  kopf.BackgroundFunc
	typed       = kopf.Typed[spec](name)
	typedChange func(*kopf.ChangeOf[spec]) (any, error)
	typedEvent  func(*kopf.EventOf[spec]) (any, error)
	typedTimer  func(*kopf.TimerOf[spec]) (any, error)
	typedDaemon func(*kopf.DaemonOf[spec]) (any, error)
	typedReview func(*kopf.ReviewOf[spec]) error
)

func _() {
`

// TestGoOptionsFitTheirKinds compiles each option of the Go SDK with each kind of handlers: those
// of the table compile, and no others.
func TestGoOptionsFitTheirKinds(t *testing.T) {
	t.Parallel()
	imports := goPackages(t)
	functions := optionFunctions(t, imports)
	kinds := kindsOf(t)

	type line struct {
		text string
		fits bool
	}
	var lines []line
	for name, fn := range functions {
		o, ok := optionOf(name)
		if !ok {
			t.Errorf("the function kopf.%s makes an option that abi/options does not have", name)
			continue
		}
		for _, kind := range kinds {
			if len(registrations[kind]) == 0 {
				t.Errorf("no function of the Go SDK registers a handler of the kind %s", kind)
			}
			for _, call := range registrations[kind] {
				lines = append(lines, line{fmt.Sprintf(call, callOf(fn)), o.Has(kind)})
			}
		}
	}
	var source strings.Builder
	source.WriteString(prelude)
	for _, l := range lines {
		source.WriteString("\t" + l.text + "\n")
	}
	source.WriteString("}\n")

	first := strings.Count(prelude, "\n") + 1
	problems := checked(t, imports, source.String())
	for number, problem := range problems {
		if i := number - first; i < 0 || i >= len(lines) {
			t.Fatalf("line %d: %s", number, problem)
		}
	}
	for i, l := range lines {
		switch problem := problems[first+i]; {
		case l.fits && problem != "":
			t.Errorf("%s: abi/options has it, and it does not compile: %s", l.text, problem)
		case !l.fits && problem == "":
			t.Errorf("%s compiles, and abi/options does not have it", l.text)
		case !l.fits && !strings.Contains(problem, "does not implement kopf."):
			t.Errorf("%s: refused for another reason: %s", l.text, problem)
		}
	}
	for _, o := range options.Table {
		if o.Go != "" && functions[o.Go] == nil {
			t.Errorf("the Go SDK has no function %s for the option %s", o.Go, o.Name)
		}
	}
}

// TestGoRefusalNamesTheKind shows what an author reads who gives an option to another kind of handler.
func TestGoRefusalNamesTheKind(t *testing.T) {
	t.Parallel()
	call := "kopf.OnCreate(name, change, kopf.Retries(3), kopf.Interval(5))"
	problems := checked(t, goPackages(t), prelude+call+"\n}\n")
	got := problems[strings.Count(prelude, "\n")+1]
	want := "cannot use kopf.Interval(5) (value of interface type kopf.TimerOption) as kopf.CreateOption value"
	if !strings.Contains(got, want) {
		t.Errorf("the compiler says %q, want %q", got, want)
	}
}

// kindsOf are all kinds of handlers.
func kindsOf(t *testing.T) []abi.Kind {
	t.Helper()
	o, ok := options.Find("kind")
	if !ok {
		t.Fatal("abi/options has no kind")
	}
	return o.Kinds
}

// optionOf is the option that a function of the Go SDK makes.
func optionOf(function string) (options.Option, bool) {
	function = strings.TrimSuffix(function, "Func") // a function in place of a value
	i := slices.IndexFunc(options.Table, func(o options.Option) bool { return o.Go == function })
	if i < 0 {
		return options.Option{}, false
	}
	return options.Table[i], true
}

// goPackages imports the Go SDK, and what it is made of.
func goPackages(t *testing.T) types.Importer {
	t.Helper()
	command := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./kopf")
	command.Dir = filepath.Join(root, "guest-sdks", "go")
	text, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(text)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("package %s is not one that the SDK needs", path)
		}
		return os.Open(files[path])
	})
}

// optionFunctions are the functions of the Go SDK whose results are options, by their names.
func optionFunctions(t *testing.T, imports types.Importer) map[string]*types.Func {
	t.Helper()
	pkg, err := imports.Import(golang)
	if err != nil {
		t.Fatal(err)
	}
	common, ok := pkg.Scope().Lookup("option").Type().Underlying().(*types.Interface)
	if !ok {
		t.Fatal("kopf.option is not an interface")
	}
	functions := map[string]*types.Func{}
	for _, name := range pkg.Scope().Names() {
		fn, ok := pkg.Scope().Lookup(name).(*types.Func)
		if !ok || !fn.Exported() || fn.Signature().TypeParams().Len() > 0 {
			continue
		}
		if results := fn.Signature().Results(); results.Len() == 1 && types.Implements(results.At(0).Type(), common) {
			functions[name] = fn
		}
	}
	return functions
}

// callOf is a call of a function with arguments that compile.
func callOf(fn *types.Func) string {
	var args []string
	for param := range fn.Signature().Params().Variables() {
		switch underlying := param.Type().Underlying().(type) {
		case *types.Basic:
			zero := "0"
			if underlying.Info()&types.IsString != 0 {
				zero = `""`
			}
			args = append(args, zero)
		case *types.Slice: // of a variadic function
		default:
			args = append(args, "nil")
		}
	}
	return "kopf." + fn.Name() + "(" + strings.Join(args, ", ") + ")"
}

// checked compiles a file as far as types go, and returns the errors by their lines.
func checked(t *testing.T, imports types.Importer, source string) map[int]string {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "snippet.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	problems := map[int]string{}
	config := types.Config{Importer: imports, Error: func(err error) {
		var problem types.Error
		if errors.As(err, &problem) {
			problems[fset.Position(problem.Pos).Line] = problem.Msg
		}
	}}
	if _, err := config.Check("snippet", fset, []*ast.File{file}, nil); err != nil && len(problems) == 0 {
		t.Fatal(err)
	}
	return problems
}
