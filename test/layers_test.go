// Package test holds the tests that look at the repository as a whole: who
// imports whom, and how packages are documented.
package test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/kopf-wasm/kopf"

// outside stands for every module that is neither the standard library nor ours.
const outside = "."

// room is a folder and what its packages may import, besides each other. Only
// what is shipped is checked, and tests are free. Each hop is checked in its own room,
// so direct imports are enough.
type room struct {
	folder string
	may    []string // folders of this repository, with all below them
	never  []string // import paths, with all below them; or outside
	but    []string // import paths that outside does not mean
}

var rooms = []room{
	{folder: "abi", never: []string{outside}},
	{folder: "internal", never: []string{outside, "net"}, but: []string{"go.yaml.in/yaml/v3"}},
	{folder: "stores", may: []string{"abi", "internal"}, never: []string{outside, "net"}, but: []string{"golang.org/x/crypto/blake2b"}},
	{folder: "host", may: []string{"abi", "internal"}, never: []string{"k8s.io", "sigs.k8s.io"}},
	// What fetches modules and what runs them do not know each other: an embedder who
	// runs files gets no client of registries, and a tool that carries artifacts gets no engine.
	{folder: "artifacts", may: []string{"abi", "internal"}, never: []string{"github.com/sigstore", "github.com/tetratelabs", "k8s.io", "sigs.k8s.io"}},
	{folder: "artifacts/oci", may: []string{"internal"}, never: []string{"github.com/tetratelabs", "k8s.io", "sigs.k8s.io"}},
	{folder: "artifacts/oci/layout", may: []string{"internal/bounded"}, never: []string{outside, "net", "os"}},
	{folder: "artifacts/oci/sources", may: []string{"internal/bounded"}, never: []string{"oras.land"}},
	{folder: "artifacts/oci/store", may: []string{"artifacts/oci/layout", "internal"}, never: []string{"oras.land", "net/http"}},
	{folder: "artifacts/modules", may: []string{"abi", "artifacts/oci", "internal"}, never: []string{"oras.land", "github.com/tetratelabs", "k8s.io", "sigs.k8s.io"}},
	{folder: "host/prepare", may: []string{"internal", "host/internal"}, never: artifactsNever},
	{folder: "artifacts/signatures", may: []string{"artifacts/oci", "internal/bounded", "internal/legible"}, never: []string{"github.com/sigstore", "oras.land", "github.com/tetratelabs", "k8s.io", "sigs.k8s.io"}},
	{folder: "artifacts/signatures/sigstore", may: []string{"artifacts/signatures", "internal/bounded"}, never: []string{module + "/artifacts/oci", "oras.land", "github.com/tetratelabs", "k8s.io", "sigs.k8s.io"}},
	{folder: "host/declaration", may: []string{"abi", "host/sections", "internal"}, never: []string{outside, "net", "os"}},
	{folder: "host/configuration", may: []string{"host/sections", "internal"}, never: []string{outside, "net", "os"}},
	{folder: "host/files", may: []string{"host/sections"}, never: []string{outside, "net", "os"}},
	{folder: "host/sections", may: []string{"host/internal/wasm"}, never: []string{outside, "net", "os"}},
	{folder: "host/internal/wasm", never: []string{outside, "net", "os"}},
	{folder: "host/imports", may: []string{"host/prepare"}, never: append([]string{"net", "os"}, artifactsNever...)},
	{folder: "host/functions", may: []string{"abi", "host/files", "internal"}, never: []string{outside, "net", "os"}},
	{folder: "host/wasi", may: []string{"host/imports"}, never: append([]string{"net", "os"}, artifactsNever...)},
	// The kinds of guests do not know each other, nor the engine.
	{folder: "host/guests/standard", may: kindMay, never: []string{"net", "os", module + "/host/guests/extism", module + "/host/guests/native"}},
	{folder: "host/guests/extism", may: kindMay, never: []string{"net", "os", module + "/host/guests/standard", module + "/host/guests/native"}},
	{folder: "host/guests/native", may: kindMay, never: []string{module + "/host/guests/standard", module + "/host/guests/extism", module + "/host/wasi"}},
	{folder: "host/registration", may: []string{"abi", "internal"}, never: artifactsNever},

	{folder: "reactor", may: []string{"abi", "internal", "stores"}, never: []string{"github.com/tetratelabs", "github.com/extism", "oras.land"}},
	{
		folder: "webhooks", may: []string{"abi", "internal", "reactor/apipath", "reactor/conns", "reactor/filters", "reactor/selectors", "reactor/patches", "reactor/reviews"},
		never: []string{"k8s.io/client-go", "github.com/tetratelabs", "github.com/extism"},
	},
	{folder: "webhooks/crowd", never: []string{outside, "net/http"}},
	{folder: "webhooks/certificates", may: []string{"internal/bounded", "reactor/apipath"}, never: []string{"k8s.io/client-go", "net/http"}},
	{folder: "operator", may: []string{"abi", "internal", "host", "reactor", "stores", "webhooks"}, never: artifactsNever},
	// What hosts operators does not know where modules come from: the command line brings that.
	{folder: "hosting", may: []string{"abi", "internal", "host", "operator", "reactor", "webhooks"}, never: artifactsNever},
	{folder: "hosting/api", may: []string{"internal"}, never: append([]string{"k8s.io/client-go", "net"}, artifactsNever...)},
	{folder: "cmd/kopf", may: []string{"abi", "artifacts", "hosting", "internal", "host", "operator"}},
	{folder: "guest-sdks/go", may: []string{"abi"}, never: []string{outside}},
	{folder: "examples", may: []string{"guest-sdks/go"}, never: []string{outside}},

	// The pure packages of the reactor: a body comes in, a decision goes out.
	{folder: "reactor/causes", may: pureMay, never: pureNever},
	{folder: "reactor/diffs", may: pureMay, never: pureNever},
	{folder: "reactor/filters", may: pureMay, never: pureNever},
	{folder: "reactor/patches", may: pureMay, never: pureNever},
	{folder: "reactor/peers", may: pureMay, never: pureNever},
	{folder: "reactor/interests", may: append([]string{"reactor/filters"}, pureMay...), never: pureNever},
	{folder: "reactor/loops", may: pureMay, never: pureNever},
	{folder: "reactor/meters", may: pureMay, never: pureNever},
	{folder: "reactor/tracing", may: pureMay, never: pureNever},
	{folder: "reactor/progression", may: pureMay, never: pureNever},
	{folder: "reactor/rights", may: append([]string{"reactor/apipath"}, pureMay...), never: pureNever},
	{folder: "reactor/reviews", may: append([]string{"reactor/patches", "reactor/selectors"}, pureMay...), never: pureNever},
	{folder: "reactor/selectors", may: append([]string{"reactor/apipath"}, pureMay...), never: pureNever},
}

// artifactsNever are the packages about artifacts, and what they stand on.
var artifactsNever = []string{module + "/artifacts", "oras.land", "github.com/sigstore", "github.com/opencontainers"}

// kindMay are the packages that kinds of guests stand on.
var kindMay = []string{"abi", "internal", "host/files", "host/functions", "host/guests", "host/imports", "host/prepare", "host/wasi"}

var (
	pureMay   = []string{"abi", "internal", "stores", "reactor/diffs"}
	pureNever = []string{outside, "net/http", "os"}
)

func TestLayers(t *testing.T) {
	for _, r := range rooms {
		t.Run(r.folder, func(t *testing.T) {
			root := filepath.Join("..", filepath.FromSlash(r.folder))
			files, err := goFiles(root)
			if err != nil {
				t.Fatal(err) // a rule for a room that is gone is stale
			}
			for _, file := range files {
				if forTests(file) || inNestedModule(root, file) {
					continue
				}
				src, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, imp := range r.violations(t, src) {
					t.Errorf("%s imports %s", file, imp)
				}
			}
		})
	}
}

// Embedders require what the root module requires, so it has no modules of Sigstore.
func TestRootModuleIsFreeOfSigstore(t *testing.T) {
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "sigstore") {
			t.Errorf("%s names modules of Sigstore", name)
		}
	}
}

// reactorRooms are the packages of the reactor, from those that import no other one to the
// operator, which imports all: each may import only those before it. See the drawing in
// CONTRIBUTING.md.
var reactorRooms = []string{
	// pure
	"backoffs", "nowait", "conns", "apipath", "diffs", "causes", "filters", "ids", "indexing", "loops", "memos", "interests", "meters", "networks", "patches", "peers", "progression", "selectors", "dimensions", "signals", "stoppers", "tracing",
	"settings", "credentials", "completion", "claims", "pauses", "reviews", "rights",
	// the API server
	"clients/wire", "clients", "leadership", "leadership/leadershiptest", "membership", "calls", "discovery", "posting", "watching", "sharing",
	// handlers
	"loggers", "events", "guests", "registries", "reactortest", "patching", "handling", "generations", "activities", "daemons",
	// the way of an event
	"queueing", "processing", "streams", "admission", "observation", "peering",
	"", // the operator
}

func TestReactorWalksOneWay(t *testing.T) { walksOneWay(t, "reactor", reactorRooms) }

// hostRooms are the packages of the host in the same order: below what, above the engine.
var hostRooms = []string{
	// the file of a module
	"internal/wasm", "internal/asm", "frames", "sections", "configuration", "files", "declaration", "registration", "prepare", "compiler", "linear", "cores", "output", "cache",
	// what guests call
	"imports", "functions", "wasi",
	// the kinds of guests
	"guests", "guests/standard", "guests/extism", "guests/native",
	"", // the engine
}

func TestHostWalksOneWay(t *testing.T) { walksOneWay(t, "host", hostRooms) }

// TestEngineKnowsNoKinds shows that only two files of the engine name a kind of guests.
func TestEngineKnowsNoKinds(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "host", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{"kinds.go": true, "connect.go": true}
	r := room{folder: "host", never: []string{module + "/host/guests/standard", module + "/host/guests/extism", module + "/host/guests/native"}}
	for _, file := range files {
		if forTests(file) {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range r.violations(t, src) {
			if strings.HasPrefix(imp, module+"/host/guests/") && !named[filepath.Base(file)] {
				t.Errorf("%s imports %s: let it ask the interface guests.Guest", file, imp)
			}
		}
	}
}

// alone are modules of others that only one package of ours may use, because they bring many
// more, or because what they are good at is small.
var alone = map[string]string{"github.com/extism": "operator/manifests"}

func TestAloneInTheirPackage(t *testing.T) {
	for _, root := range []string{"artifacts", "cmd", "host", "hosting", "internal", "operator", "reactor", "stores", "webhooks"} {
		files, err := goFiles(filepath.Join("..", root))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for imp, folder := range alone {
				where := room{folder: outside, may: []string{""}, never: []string{imp}}
				for _, bad := range where.violations(t, src) {
					if under(bad, imp) && !forTests(file) && filepath.ToSlash(filepath.Dir(file)) != "../"+folder {
						t.Errorf("%s imports %s, which only %s uses", file, bad, folder)
					}
				}
			}
		}
	}
}

// walksOneWay checks that each package below a folder imports only those before it.
func walksOneWay(t *testing.T, root string, order []string) {
	t.Helper()
	all, err := goFiles(filepath.Join("..", root))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]string{}
	for _, file := range all {
		folder, err := filepath.Rel(filepath.Join("..", root), filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		if folder = filepath.ToSlash(folder); folder == "." {
			folder = ""
		}
		files[folder] = append(files[folder], file)
	}
	for folder := range files {
		if !slices.Contains(order, folder) {
			t.Errorf("%s/%s has no place in the order of packages", root, folder)
		}
	}
	for i, name := range order {
		if len(files[name]) == 0 {
			t.Fatalf("%s/%s: no files", root, name)
		}
		var before []string
		for _, earlier := range order[:i] {
			before = append(before, module+"/"+root+"/"+earlier)
		}
		for _, file := range files[name] {
			checkOrder(t, file, module+"/"+root, before)
		}
	}
}

// checkOrder reports the imports of a file that come after its package.
func checkOrder(t *testing.T, file, root string, before []string) {
	t.Helper()
	if forTests(file) {
		return
	}
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	everything := room{folder: outside, never: []string{root}}
	for _, imp := range everything.violations(t, src) {
		if under(imp, root) && !slices.Contains(before, imp) {
			t.Errorf("%s imports %s, which comes after it", file, imp)
		}
	}
}

// violations lists the imports of a file that its room does not allow.
func (r room) violations(t *testing.T, src []byte) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var bad []string
	for _, spec := range file.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if !r.allows(imp) {
			bad = append(bad, imp)
		}
	}
	return bad
}

func (r room) allows(imp string) bool {
	if slices.ContainsFunc(r.never, func(never string) bool { return under(imp, never) }) {
		return false
	}
	if under(imp, module) {
		local := strings.TrimPrefix(strings.TrimPrefix(imp, module), "/")
		return under(local, r.folder) || slices.ContainsFunc(r.may, func(may string) bool { return under(local, may) })
	}
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".") || !slices.Contains(r.never, outside) || slices.Contains(r.but, imp)
}

// under tells whether a path is a folder or lies below it.
func under(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// goFiles lists the Go files below a folder; an error if there is no such folder.
func goFiles(root string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".")) {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".go") {
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

// inNestedModule reports whether a file belongs to a module below a folder. Such a module has
// a room of its own.
func inNestedModule(root, file string) bool {
	for dir := filepath.Dir(file); dir != root; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return true
		}
	}
	return false
}

// forTests tells the files that are not shipped: tests, and packages that only
// tests import, named as httptest is.
func forTests(file string) bool {
	return strings.HasSuffix(file, "_test.go") || strings.HasSuffix(filepath.Dir(file), "test")
}

// The check itself must be able to fail.
func TestViolations(t *testing.T) {
	find := func(folder string) room {
		i := slices.IndexFunc(rooms, func(r room) bool { return r.folder == folder })
		if i < 0 {
			t.Fatalf("there is no room %s", folder)
		}
		return rooms[i]
	}
	tests := []struct {
		name, folder, imp string
		allowed           bool
	}{
		{"the standard library", "abi", "encoding/json", true},
		{"a dependency in the contract", "abi", "github.com/google/go-cmp/cmp", false},
		{"its own package", "host", module + "/host/prepare", true},
		{"the contract", "host", module + "/abi", true},
		{"a module of a longer name", "host", module + "-other/abi", true},
		{"a room of a longer name", "host", module + "/abi2", false},
		{"the root package", "host", module, false},
		{"a room above", "host", module + "/reactor/filters", false},
		{"Kubernetes in the host", "host", "k8s.io/apimachinery/pkg/types", false},
		{"a kind of guests in another", "host/guests/extism", module + "/host/guests/standard", false},
		{"the border in a kind of guests", "host/guests/extism", module + "/host/guests", true},
		{"the engine in a kind of guests", "host/guests/extism", module + "/host", false},
		{"the engine in WASI", "host/wasi", module + "/host", false},
		{"the engine in the host", "host", "github.com/tetratelabs/wazero", true},
		{"artifacts in the embedding API", "operator", module + "/artifacts/oci/store", false},
		{"the engine where artifacts are carried", "artifacts/oci", "github.com/tetratelabs/wazero", false},
		{"a client of registries in the store", "artifacts/oci/store", "oras.land/oras-go/v2", false},
		{"the engine in the reactor", "reactor", "github.com/tetratelabs/wazero", false},
		{"Sigstore for those who verify keys", "artifacts/signatures", "github.com/sigstore/sigstore-go/pkg/verify", false},
		{"Sigstore in its module", "artifacts/signatures/sigstore", "github.com/sigstore/sigstore-go/pkg/verify", true},
		{"the network in the stores", "stores", "net/http", false},
		{"a name that begins like net", "stores", "netip", true},
		{"a pure package in a server", "webhooks", module + "/reactor/filters", true},
		{"the rest of the reactor in a server", "webhooks", module + "/reactor", false},
		{"client-go in a pure package", "reactor/filters", "k8s.io/client-go/rest", false},
		{"the reactor in the command", "cmd/kopf", module + "/reactor", false},
		{"a room in a helper", "internal", module + "/abi", false},
		{"a test's cluster in the SDK", "guest-sdks/go", module + "/test/clustertest", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := "package p\n\nimport (\n\t\"fmt\"\n\tx " + strconv.Quote(tt.imp) + "\n)\n"
			bad := find(tt.folder).violations(t, []byte(src))
			if allowed := len(bad) == 0; allowed != tt.allowed {
				t.Errorf("%s in %s: allowed = %v, want %v", tt.imp, tt.folder, allowed, tt.allowed)
			}
		})
	}
}
