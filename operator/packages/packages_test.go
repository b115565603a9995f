package packages

import (
	"archive/zip"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/host/compiler"
)

func TestMain(m *testing.M) {
	compiler.Main()
	caches, err := os.MkdirTemp("", "kopf-packages-*")
	if err == nil {
		err = os.Setenv("XDG_CACHE_HOME", caches) // the engine is compiled once
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(caches)
	os.Exit(code)
}

// engine reads the engine of Python.
func engine(t *testing.T) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "..", "bin", "engines", "python.wasm"))
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") == "" {
		t.Skip("make engines builds the engine")
	}
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// tree writes files into a new folder.
func tree(t *testing.T, content map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range content {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// wheel writes a wheel into a folder.
func wheel(t *testing.T, folder, name string, content map[string]string) {
	t.Helper()
	f, err := os.Create(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	for _, path := range slices.Sorted(maps.Keys(content)) {
		member, err := w.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := member.Write([]byte(content[path])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// metadata is the folder of metadata of a wheel, as pip needs it.
func metadata(name, version string) map[string]string {
	dir := name + "-" + version + ".dist-info/"
	return map[string]string{
		dir + "METADATA": "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n\nA long description.\n",
		dir + "WHEEL":    "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		dir + "RECORD":   "", dir + "licenses/LICENSE": "free",
	}
}

func with(a, b map[string]string) map[string]string {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}

func pathsOf(found map[string][]byte) string { return strings.Join(sortedKeys(found), " ") }

// A folder of wheels is packed as compiled code, with data, versions and licences. Two
// packings are equal, and equal to one from the cache.
func TestWheelsArePacked(t *testing.T) {
	dir := t.TempDir()
	wheel(t, dir, "one-1.0-py3-none-any.whl", with(metadata("one", "1.0"), map[string]string{
		"one/__init__.py": "import re\nNAMES = {'a', 'b', 'c'}\ndef f(x): return x in {'q', 'r', 's'}\n", "one/data.txt": "data", "one/__init__.pyi": "", "one/broken.py": "def f(:",
		"one-1.0.data/purelib/moved.py": "", "one-1.0.data/scripts/one": "#!/bin/sh",
	}))
	caches := filepath.Join(t.TempDir(), "cache")
	var packed []map[string][]byte
	var notes []string
	for _, cache := range []string{host.CacheOff, host.CacheOff, caches, caches} {
		p := &Packer{From: dir, CacheDir: cache, Note: func(text string) { notes = append(notes, text) }}
		got, err := p.Files(t.Context(), engine(t))
		if err != nil {
			t.Fatal(err)
		}
		packed = append(packed, got)
	}
	want := "packages/moved.pyc packages/one-1.0.dist-info/METADATA packages/one-1.0.dist-info/licenses/LICENSE " +
		"packages/one/__init__.pyc packages/one/broken.py packages/one/data.txt"
	if got := pathsOf(packed[0]); got != want {
		t.Errorf("packed %s\nwant   %s", got, want)
	}
	if text := string(packed[0]["packages/one-1.0.dist-info/METADATA"]); text != "Metadata-Version: 2.1\nName: one\nVersion: 1.0\n" {
		t.Errorf("metadata %q", text)
	}
	for i := range packed {
		if diff := cmp.Diff(packed[0], packed[i]); diff != "" {
			t.Errorf("packing %d differs:\n%s", i, diff)
		}
	}
	if len(notes) != 3 {
		t.Errorf("the cached packing compiles again: %q", notes)
	}
}

// A damaged entry of the cache is made again.
func TestDamagedCacheIsReplaced(t *testing.T) {
	dir := t.TempDir()
	make := func() (map[string][]byte, error) { return map[string][]byte{"a": []byte("1")}, nil }
	for _, damage := range []string{"", "x", strings.Repeat("x", 100)} {
		if damage != "" {
			if err := os.WriteFile(filepath.Join(dir, "k"), []byte(damage), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := cached(dir, "k", make); err != nil || string(got["a"]) != "1" {
			t.Errorf("%q: %v, %v", damage, got, err)
		}
	}
}

// collectWheel collects one wheel, and returns its error.
func collectWheel(t *testing.T, name string, content map[string]string, limit int) (*collection, error) {
	t.Helper()
	dir := t.TempDir()
	wheel(t, dir, name, content)
	c := newCollection(limit)
	err := c.addPath(filepath.Join(dir, name), false)
	if err == nil {
		err = c.check()
	}
	return c, err
}

func TestWheelsAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		file    string
		content map[string]string
		want    string
	}{
		"the parent folder": {"a-1-py3-none-any.whl", map[string]string{"../evil.py": ""}, `"../evil.py" is not relative and clean`},
		"an absolute path":  {"a-1-py3-none-any.whl", map[string]string{"/evil.py": ""}, "not relative and clean"},
		"a backslash":       {"a-1-py3-none-any.whl", map[string]string{`..\evil.py`: ""}, "invalid characters"},
		"Python 2":          {"a-1-py2-none-any.whl", map[string]string{"a.py": ""}, "is for py2: the engine is Python 3.11"},
		"another name":      {"a.whl", map[string]string{"a.py": ""}, "NAME-VERSION-PYTHON-ABI-PLATFORM.whl"},
		"a bomb":            {"a-1-py3-none-any.whl", map[string]string{"a.py": strings.Repeat(" ", 1<<20)}, "too large"},
		"nothing":           {"a-1-py3-none-any.whl", map[string]string{"a-1.data/scripts/a": ""}, "no packages"},
		"native code":       {"numpy-2.0-cp311-cp311-linux_x86_64.whl", map[string]string{"numpy/x.so": "", "numpy/a.so.1": ""}, "numpy has native code (numpy/a.so.1), which the sandbox cannot load: it has no form in plain Python: use lists"},
		"unknown code":      {"Un_known-2.0-cp311-cp311-linux_x86_64.whl", map[string]string{"x.pyd": ""}, "un-known has native code (x.pyd), which the sandbox cannot load: only packages in plain Python work"},
	} {
		_, err := collectWheel(t, test.file, test.content, 1<<16)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestNotesAreLegible: they name files of packages, which others have made, and go to a terminal.
func TestNotesAreLegible(t *testing.T) {
	folder := tree(t, map[string]string{"yaml/__init__.py": "", "yaml/x\u009b2J.so": "", "PyYAML-6.0.dist-info/RECORD": "yaml/x\u009b2J.so,,\n"})
	var notes []string
	p := &Packer{From: folder, CacheDir: host.CacheOff, Note: func(text string) { notes = append(notes, text) }}
	_, _ = p.Files(t.Context(), nil) // there is no engine
	if text := strings.Join(notes, "; "); !strings.Contains(text, `its pure part is packed, without yaml/x\u009b2J.so`) {
		t.Errorf("the notes are %q", notes)
	}
}

// TestLongDescriptionsCount: a wheel of a few megabytes can have the same long text in thousands of files, and reading them takes days.
func TestLongDescriptionsCount(t *testing.T) {
	c := newCollection(1000)
	for i, want := range []error{nil, ErrTooLarge} {
		text := "Name: a\n\n" + strings.Repeat("x", 600)
		if err := c.add(fmt.Sprintf("a%d-1.dist-info/METADATA", i), strings.NewReader(text)); !errors.Is(err, want) {
			t.Errorf("file %d: error %v, want %v", i, err, want)
		}
	}
}

// Links in wheels are refused: they could name files of this machine.
func TestLinksInWheelsAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a-1-py3-none-any.whl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	header := &zip.FileHeader{Name: "link.py"}
	header.SetMode(fs.ModeSymlink | 0o777)
	member, err := w.CreateHeader(header)
	if err == nil {
		_, err = member.Write([]byte("/etc/passwd"))
	}
	if err := errors.Join(err, w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if err := newCollection(1<<20).addPath(path, false); err == nil || !strings.Contains(err.Error(), "symbolic links are not packed") {
		t.Error(err)
	}
}

// Packages whose native code only makes them faster are packed without it.
func TestPurePartsArePacked(t *testing.T) {
	c, err := collectWheel(t, "PyYAML-6.0-cp311-cp311-linux_x86_64.whl", map[string]string{"yaml/__init__.py": "", "yaml/_yaml.so": "\x7fELF"}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if got := pathsOf(c.files); got != "yaml/__init__.py" {
		t.Errorf("files %s", got)
	}
	if got := fmt.Sprint(c.notes); got != "[pyyaml: its pure part is packed, without yaml/_yaml.so]" {
		t.Errorf("notes %s", got)
	}
}

// Native packages that others use in few functions are left out; importing them says why.
func TestDispensablePackagesAreLeftOut(t *testing.T) {
	native := map[string]string{"cryptography/__init__.py": "", "cryptography/x.so": "", "cryptography-1.dist-info/METADATA": "Name: cryptography\n", "auth.py": ""}
	c := newCollection(1 << 20)
	if err := errors.Join(c.addPath(tree(t, native), true), c.check()); !errors.Is(err, ErrNative) {
		t.Errorf("no other package requires it: %v", err)
	}
	native["google_auth-1.dist-info/METADATA"] = "Name: google-auth\nRequires-Dist: cryptography>=3; extra == 'x'\n"
	c = newCollection(1 << 20)
	if err := errors.Join(c.addPath(tree(t, native), true), c.check()); err != nil {
		t.Fatal(err)
	}
	if got := pathsOf(c.files); got != "auth.py cryptography.py google_auth-1.dist-info/METADATA" {
		t.Errorf("files %s", got)
	}
	speedups := map[string]string{
		"backports/zstd/__init__.py": "", "backports/zstd/x.so": "", "backports.zstd-1.dist-info/METADATA": "", "backports.zstd-1.dist-info/RECORD": "backports/zstd/x.so,,\n",
		"backports/other.py": "", "aiohttp-3.dist-info/METADATA": "Requires-Dist: backports.zstd; extra == 'speedups'\n",
	}
	parts := newCollection(1 << 20)
	if err := errors.Join(parts.addPath(tree(t, speedups), true), parts.check()); err != nil {
		t.Fatal(err)
	}
	if got := pathsOf(parts.files); got != "aiohttp-3.dist-info/METADATA backports/other.py backports/zstd.py" {
		t.Errorf("files %s", got)
	}
	if text := string(c.files["cryptography.py"]); !strings.Contains(text, "cryptography is native code, which the sandbox cannot load") || len(c.notes) != 1 {
		t.Errorf("%s, notes %q", text, c.notes)
	}
}

// A folder as of pip install --target is packed without what a sandbox cannot use; native
// code is refused by the name of its distribution.
func TestFoldersArePacked(t *testing.T) {
	content := map[string]string{
		"one/__init__.py": "", "one/__pycache__/x.pyc": "", "one/py.typed": "", ".git/config": "", "bin/one": "", "two.py": "",
		"one-1.dist-info/RECORD": "one/__init__.py,,\n", "one-1.dist-info/METADATA": "Name: one\n", "one-1.dist-info/LICENSE.txt": "free",
	}
	c := newCollection(1 << 20)
	if err := errors.Join(c.addPath(tree(t, content), true), c.check()); err != nil {
		t.Fatal(err)
	}
	if got := pathsOf(c.files); got != "one-1.dist-info/LICENSE.txt one-1.dist-info/METADATA one/__init__.py one/py.typed two.py" {
		t.Errorf("files %s", got)
	}
	content["_cffi_backend.so"], content["other/x.so"] = "", ""
	content["cffi-1.dist-info/RECORD"] = "_cffi_backend.so,sha256=x,1\n"
	c = newCollection(1 << 20)
	err := errors.Join(c.addPath(tree(t, content), true), c.check())
	if !errors.Is(err, ErrNative) || !strings.Contains(err.Error(), "cffi has native code (_cffi_backend.so)") || !strings.Contains(err.Error(), "other has native code") {
		t.Error(err)
	}
}

func TestLinksInFoldersAreRefused(t *testing.T) {
	root := tree(t, map[string]string{"a.py": ""})
	if err := os.Symlink("/etc/passwd", filepath.Join(root, "b.py")); err != nil {
		t.Skip(err)
	}
	if err := newCollection(1<<20).addPath(root, true); err == nil || !strings.Contains(err.Error(), "b.py is not a regular file") {
		t.Error(err)
	}
}

// needPip makes a virtual environment with pip if there is no pip: Debian's Python has none. As root, it also
// installs what virtual environments need.
func needPip(t *testing.T) {
	t.Helper()
	if _, err := findPip(t.Context()); err == nil {
		return
	}
	venv := filepath.Join(t.TempDir(), "venv")
	text, err := exec.CommandContext(t.Context(), "python3", "-m", "venv", venv).CombinedOutput()
	if err != nil && os.Getuid() == 0 {
		text, err = exec.CommandContext(t.Context(), "sh", "-c", `../../scripts/apt.sh python3 python3-venv && python3 -m venv --clear "$0"`, venv).CombinedOutput()
	}
	if err != nil {
		t.Skipf("there is no pip, and no virtual environment: %v: %s", err, text)
	}
	t.Setenv("PATH", filepath.Join(venv, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// pip resolves requirements, also without a network.
func TestRequirementsAreResolved(t *testing.T) {
	needPip(t)
	wheels := t.TempDir()
	one := metadata("one", "1.0")
	one["one-1.0.dist-info/METADATA"] = "Metadata-Version: 2.1\nName: one\nVersion: 1.0\nRequires-Dist: two\n"
	wheel(t, wheels, "one-1.0-py3-none-any.whl", with(one, map[string]string{"one.py": ""}))
	wheel(t, wheels, "two-2.0-cp311-cp311-manylinux_2_17_x86_64.whl", with(metadata("two", "2.0"), map[string]string{"two.py": "", "two.so": ""}))
	list := filepath.Join(t.TempDir(), "requirements.txt")
	for text, want := range map[string]string{
		"one":    "two has native code (two.so)",
		"absent": "No matching distribution found for absent",
		"one==1.0 --hash=sha256:" + strings.Repeat("0", 64): "DO NOT MATCH THE HASHES",
	} {
		if err := os.WriteFile(list, []byte("--no-index\n--find-links "+wheels+"\n"+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := (&Packer{From: list, CacheDir: host.CacheOff}).Files(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	wheel(t, wheels, "two-2.0-py3-none-any.whl", with(metadata("two", "2.0"), map[string]string{"two.py": ""}))
	if err := os.WriteFile(list, []byte("--no-index\n--find-links "+wheels+"\none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := (&Packer{From: list, CacheDir: host.CacheOff}).Files(t.Context(), engine(t))
	if err != nil || !strings.Contains(pathsOf(got), "packages/two.pyc") {
		t.Errorf("%s, %v", pathsOf(got), err)
	}
}

// TestRequirementsRunNoCode: the folder of a script and its list of requirements can come from others. Nothing of them runs outside of the
// sandbox: neither a module in place of pip, nor what builds a package.
func TestRequirementsRunNoCode(t *testing.T) {
	needPip(t)
	ran := filepath.Join(t.TempDir(), "ran")
	code := fmt.Sprintf("open(%q, 'a').write(__file__ + '\\n')\n", ran)
	project := "[build-system]\nrequires = []\nbuild-backend = 'evil'\nbackend-path = ['.']\n\n[project]\nname = 'evil'\nversion = '1'\n"
	folder := tree(t, map[string]string{"pip.py": code, "runpy.py": code, "evil/evil.py": code, "evil/pyproject.toml": project})
	t.Chdir(folder)
	for _, text := range []string{"./evil", "-e ./evil", "evil @ git+https://localhost:1/evil"} {
		if err := os.WriteFile("requirements.txt", []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := (&Packer{From: "requirements.txt", CacheDir: host.CacheOff}).Files(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), "only wheels are packed") {
			t.Errorf("%q: %v", text, err)
		}
		if by, err := os.ReadFile(ran); err == nil {
			t.Errorf("%q: code has run: %s", text, by)
		}
	}
}

func TestNoPip(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	list := filepath.Join(tree(t, map[string]string{"requirements.txt": "one"}), "requirements.txt")
	_, err := (&Packer{From: list, CacheDir: host.CacheOff}).Files(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "this machine has no pip") || errors.Is(err, exec.ErrNotFound) {
		t.Error(err)
	}
}

func TestRequirementsOfProjects(t *testing.T) {
	py := &python{engine: engine(t)}
	for text, want := range map[string]string{
		"[project]\ndependencies = ['a>=1', 'kopf', \"Kopf[full-auth]~=1.2\", 'kopf-x']": "a>=1\nkopf-x\n",
		"[project]\ndynamic = ['dependencies']":                                          "its dependencies are dynamic",
		"[tool.poetry.dependencies]\na = '1'":                                            "it has no table [project]",
		"[":                                                                              "Invalid",
	} {
		path := filepath.Join(tree(t, map[string]string{"pyproject.toml": text}), "pyproject.toml")
		list, err := (&Packer{From: path}).readList(t.Context(), py)
		if got := fmt.Sprint(err); err != nil && !strings.Contains(got, want) {
			t.Errorf("%q: %s", text, got)
		}
		if err == nil && string(list.text) != want {
			t.Errorf("%q: %q", text, list.text)
		}
	}
}

func TestContents(t *testing.T) {
	got := ContentsOf([]string{"packages/PyYAML-6.0.dist-info/METADATA", "packages/yaml/__init__.pyc", "script/a/__init__.py", "script/a/b.py", "script/h.py"})
	if want := (Contents{Modules: []string{"a/", "h.py"}, Packages: []string{"PyYAML 6.0"}}); !cmp.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := ContentsOf([]string{"packages/x.pyc", "packages/y/z.pyc"}); !cmp.Equal(got.Packages, []string{"x", "y"}) {
		t.Errorf("without metadata: %+v", got)
	}
}

func TestListsThatAreCached(t *testing.T) {
	for text, want := range map[string]bool{
		"a==1 \\\n    --hash=sha256:00\n# -r\n": true, "--index-url https://x\na": true, "-r other.txt": false, "--find-links=x\na": false, "-e .": false, "a @ file:///x": false,
		"./a-1-py3-none-any.whl": false, "wheels/a": false, "a-1-py3-none-any.whl # mine": false, "a==${VERSION}": false, "# see docs/x\na # or ./b\n": true, "a @ https://x/a-1-py3-none-any.whl": true,
	} {
		if got := (&requirements{text: []byte(text)}).fixed(); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestKopfItselfIsLeftOut: a list with hashes has several lines for each requirement.
func TestKopfItselfIsLeftOut(t *testing.T) {
	lines := []string{
		`one==1 \`, "    --hash=sha256:11", `kopf[full-auth]==1.37.5 ; python_version >= "3.10" \`, `    --hash=sha256:22 \`, "    --hash=sha256:33",
		"kopf-more==1", "kopf===1.37.2", "two",
	}
	if diff := cmp.Diff([]string{lines[0], lines[1], "kopf-more==1", "two"}, withoutKopf(lines)); diff != "" {
		t.Error(diff)
	}
}
