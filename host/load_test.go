package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// load loads a module that may be refused.
func load(t *testing.T, wasm []byte, o Options) (*Module, error) {
	t.Helper()
	m, err := Load(context.Background(), "op.wasm", wasm, withCache(t, o))
	if err == nil {
		t.Cleanup(func() {
			if err := m.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	return m, err
}

func TestLoadRefuses(t *testing.T) {
	guest := asm.Guest(nil)
	imports := func(module, name string, params, results []byte) asm.Module {
		g := guest
		g.Imports = []asm.Import{{Module: module, Name: name, Params: params, Results: results}}
		return g
	}
	noMemory := guest
	noMemory.Memory, noMemory.Data = nil, nil
	bigMemory := guest
	bigMemory.Memory = []uint32{5000}
	outside := guest
	outside.Data = []asm.Data{{Offset: 65535, Bytes: "ab"}}
	component := append([]byte("\x00asm\x0d\x00\x01\x00"), 0)
	three := []byte{asm.I32, asm.I32, asm.I32}
	for _, test := range []struct {
		name string
		wasm []byte
		want string
	}{
		{"empty", nil, "not a WebAssembly file"},
		{"text", []byte("#!/bin/sh\n"), "not a WebAssembly file"},
		{"component", component, "component"},
		{"other version", []byte("\x00asm\x02\x00\x00\x00"), "version of the binary format"},
		{"cut", guest.Encode()[:100], "malformed"},
		{"no marker", guest.Without("kopf_abi_v1").Encode(), "not a Kopf guest: it does not export kopf_abi_v1"},
		{"newer", guest.Without("kopf_abi_v1").With(asm.Func{Export: "kopf_abi_v2"}).Encode(), "speaks version 2 of the ABI"},
		{"marker of another type", guest.With(asm.Func{Export: "kopf_abi_v1", Params: []byte{asm.I32}}).Encode(), "its export kopf_abi_v1 has the type (i32) -> ()"},
		{"no memory", noMemory.Encode(), "does not export memory"},
		{"no allocator", guest.Without("kopf_alloc").Encode(), "does not export kopf_alloc"},
		{"no register", guest.Without("kopf_register").Encode(), "does not export kopf_register"},
		{"no start", guest.Without("kopf_start").Encode(), "does not export kopf_start"},
		{"start of another type", guest.With(asm.Func{Export: "kopf_start", Params: three}).Encode(), "its export kopf_start has the type (i32, i32, i32) -> () instead of (i32, i32, i32) -> i64"},
		{"resume of another type", guest.With(asm.Func{Export: "kopf_resume"}).Encode(), "its export kopf_resume has the type"},
		{"a program", guest.With(asm.Func{Export: "_start"}).Encode(), "-buildmode=c-shared"},
		{"unknown import", imports("env", "system", nil, nil).Encode(), "it imports env.system, which this host does not provide"},
		{"unknown host function", imports("kopf", "shell", nil, nil).Encode(), "it imports kopf.shell, which this host does not provide"},
		{"the private yield", imports("kopf:host", "yield", nil, []byte{asm.I64}).Encode(), "it imports kopf:host.yield, which this host does not provide"},
		{"import of another type", imports("kopf", "log", nil, nil).Encode(), "its import kopf.log has the type () -> () instead of (i32, i32, i32, i32) -> ()"},
		{"too much memory", bigMemory.Encode(), "the memory begins with 5000 pages"},
		{"data outside", outside.Encode(), "data segment 0 lies outside of the memory"},
		{"type error", asm.Guest(asm.I32Add).Encode(), "i32.add"},
		{"unknown opcode", asm.Guest([]byte{0xff}).Encode(), "unknown (opcode 0xff)"},
		{"threads", asm.Guest([]byte{0xfe, 0x03, 0x00}).Encode(), "threads"},
		{"tail call", asm.Guest([]byte{0x12, 0}).Encode(), "tail calls"},
		{"exceptions", asm.Guest([]byte{0x06, 0x40, 0x0b}).Encode(), "exceptions"},
		{"garbage collection", asm.Guest([]byte{0xfb, 0, 0}).Encode(), "garbage collection"},
		{"relaxed SIMD", asm.Guest(asm.Cat([]byte{0xfd}, asm.U32(256))).Encode(), "relaxed SIMD"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := load(t, test.wasm, Options{})
			if !errors.Is(err, ErrModule) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "op.wasm") {
				t.Errorf("error = %v, want %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	m, err := load(t, asm.Guest(nil).Encode(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Name() != "op.wasm" || !strings.HasPrefix(m.Digest(), "sha256:") || len(m.Digest()) != 71 {
		t.Errorf("name %q, digest %q", m.Name(), m.Digest())
	}
	if r := m.Registration(); len(r.Handlers) != 1 || r.Handlers[0].ID != "fn" {
		t.Errorf("registration = %+v", r)
	}
	if got := m.Exports()[3]; got != (Function{Name: "kopf_start", Type: "(i32, i32, i32) -> i64"}) {
		t.Errorf("export = %+v", got)
	}
	task, step, err := m.Start(context.Background(), invoke(""), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	task.Release(context.Background())
	if step.Step != abi.StepDone || string(step.Result) != "1" {
		t.Errorf("step = %+v", step)
	}
}

// A module may import a function several times, and its runtime has no functions that it
// does not import.
func TestImportedFunctions(t *testing.T) {
	guest := asm.Guest(nil)
	log := asm.Import{Module: "kopf", Name: "log", Params: []byte{asm.I32, asm.I32, asm.I32, asm.I32}}
	guest.Imports = []asm.Import{log, log}
	m, err := load(t, guest.Encode(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if functions := m.machine.runtime.Module("kopf").ExportedFunctionDefinitions(); len(functions) != 1 || functions["log"] == nil {
		t.Errorf("functions of kopf: %v", functions)
	}
	if wasi := m.machine.runtime.Module("wasi_snapshot_preview1"); wasi != nil {
		t.Errorf("the runtime has %v", wasi)
	}
}

func TestRegistrationFails(t *testing.T) {
	for _, test := range []struct {
		name, how string
		options   Options
		guest     bool // to blame is the running guest, not its document
		want      string
	}{
		{name: "panic", how: "panic", guest: true, want: "panic: registering: boom"},
		{name: "loops", how: "spin", options: Options{ComputeLimit: 50e6}, guest: true, want: "computed too long"},
		{name: "sleeps", how: "sleep", options: Options{RegisterTimeout: 50e6}, guest: true, want: "registration took longer than 50ms"},
		{name: "broken JSON", how: "json", want: "unexpected end of JSON"},
		{name: "unknown kind", how: `{"handlers":[{"kind":"upsert","id":"a"}]}`, want: `upsert handler "a": unknown kind "upsert"`},
		{name: "refused", how: `{"error":"KEY is missing"}`, want: "the operator cannot register its handlers: KEY is missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := test.options
			o.Config = map[string]string{"register": test.how}
			if strings.HasPrefix(test.how, "{") {
				o.Config = map[string]string{"register": "document", "document": test.how}
			}
			_, err := load(t, guestBytes(t), o)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "op.wasm: ") {
				t.Fatalf("error = %v, want %q", err, test.want)
			}
			if got := errors.Is(err, abi.ErrGuest); got != test.guest {
				t.Errorf("is a guest error: %v", got)
			}
		})
	}
}

func TestRegistrationIsPure(t *testing.T) {
	m, err := load(t, guestBytes(t), Options{NoClones: true, Config: map[string]string{"register": "random"}})
	if err != nil {
		t.Fatal(err)
	}
	first, _, err := m.Start(context.Background(), invoke("count"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Release(context.Background())
	_, _, err = m.Start(context.Background(), invoke("count"), nil, &testEnv{})
	if !errors.Is(err, abi.ErrGuest) || !strings.Contains(err.Error(), "differs from that of another instance") {
		t.Errorf("error = %v", err)
	}
}

func TestRegistrationSeesNoSecrets(t *testing.T) {
	m, err := load(t, guestBytes(t), Options{
		Config:  map[string]string{"register": "secret"},
		Secrets: map[string]string{"secret": "hush"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if m.Registration().SDK != "-1" {
		t.Errorf("registration read %q", m.Registration().SDK)
	}
}

func TestCacheFolder(t *testing.T) {
	t.Run("shared", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		_, err := load(t, asm.Guest(nil).Encode(), Options{CacheDir: dir})
		if err == nil || !strings.Contains(err.Error(), "other users can write") {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("made", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "a", "b")
		if _, err := load(t, asm.Guest(nil).Encode(), Options{CacheDir: dir}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("mode %v, error %v", info.Mode(), err)
		}
	})
	t.Run("default", func(t *testing.T) {
		home := t.TempDir()
		t.Setenv("XDG_CACHE_HOME", home)
		m, err := Load(context.Background(), "op.wasm", asm.Guest(nil).Encode(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close(context.Background())
		if files, _ := filepath.Glob(filepath.Join(home, "kopf", "wasm", "*.prepared")); len(files) != 1 {
			t.Errorf("files: %v", files)
		}
	})
	t.Run("cannot be written", func(t *testing.T) {
		const folder = "/proc/self/task" // of this user, who cannot make files in it
		if _, err := os.Stat(folder); err != nil {
			t.Skip(err)
		}
		home := t.TempDir()
		t.Setenv("XDG_CACHE_HOME", home)
		if err := errors.Join(os.Mkdir(filepath.Join(home, "kopf"), 0o700), os.Symlink(folder, filepath.Join(home, "kopf", "wasm"))); err != nil {
			t.Fatal(err)
		}
		m, err := Load(context.Background(), "op.wasm", asm.Guest(nil).Encode(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close(context.Background())
		if got := result(t, m, "", &testEnv{}); got != "1" {
			t.Errorf("result %s", got)
		}
		if _, err := load(t, asm.Guest(nil).Encode(), Options{CacheDir: folder}); err == nil {
			t.Error("a folder that was chosen is ignored")
		}
	})
	t.Run("off", func(t *testing.T) {
		t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "none"))
		if _, err := load(t, asm.Guest(nil).Encode(), Options{CacheDir: CacheOff}); err != nil {
			t.Error(err)
		}
	})
	t.Run("broken files", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, cut := range []int64{0, 100} {
			m, err := Load(context.Background(), "op.wasm", asm.Guest(nil).Encode(), Options{CacheDir: dir})
			if err != nil {
				t.Fatalf("after cutting: %v", err)
			}
			m.Close(context.Background())
			truncateAll(t, dir, cut)
		}
		if _, err := load(t, asm.Guest(nil).Encode(), Options{CacheDir: dir}); err != nil {
			t.Errorf("after cutting: %v", err)
		}
	})
}

// truncateAll cuts all files below a folder.
func truncateAll(t *testing.T, dir string, size int64) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		return os.Truncate(path, size)
	})
	if err != nil {
		t.Fatal(err)
	}
}
