package host

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/compiler"
)

// goGuest compiles testdata/goguest once.
var goGuest = sync.OnceValues(func() ([]byte, error) { return buildGo("./testdata/goguest") })

// buildGo compiles a guest in Go.
func buildGo(folder string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "goguest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "guest.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", file, ".")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the guest: %w\n%s", err, out)
	}
	return os.ReadFile(file)
}

// testCache is the compilation cache of all tests: compiling the guest takes a second.
var testCache = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "kopf-cache") })

func TestMain(m *testing.M) {
	compiler.Main()
	code := m.Run()
	if dir, err := testCache(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

func guestBytes(t testing.TB) []byte {
	t.Helper()
	wasm, err := goGuest()
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// withCache sets the cache of the tests.
func withCache(t testing.TB, o Options) Options {
	t.Helper()
	dir, err := testCache()
	if err != nil {
		t.Fatal(err)
	}
	if o.CacheDir == "" {
		o.CacheDir = dir
	}
	return o
}

// loadGo loads the Go guest.
func loadGo(t testing.TB, o Options) *Module {
	t.Helper()
	m, err := Load(context.Background(), "guest.wasm", guestBytes(t), withCache(t, o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// invoke is the invocation of the handler whose param says what it does.
func invoke(what string) *abi.Invocation {
	return &abi.Invocation{Kind: abi.KindCreate, ID: "fn", Name: "obj1", Param: abi.Raw(fmt.Sprintf("%q", what))}
}

// testEnv is an Env that remembers.
type testEnv struct {
	logs   []string
	events []abi.Event
	memo   map[string][]byte
}

func (e *testEnv) Log(level int, message string) {
	e.logs = append(e.logs, fmt.Sprintf("%d %s", level, message))
}

func (e *testEnv) Segment(tag uint32) []byte {
	if tag == abi.TagOld {
		return []byte(`{"old":true}`)
	}
	return nil
}

func (e *testEnv) Stopped() int { return abi.StopOperatorExiting }

func (e *testEnv) Event(ev abi.Event) error {
	e.events = append(e.events, ev)
	return nil
}

func (e *testEnv) MemoGet(_ int, key string) ([]byte, uint64, bool) {
	v, ok := e.memo[key]
	return v, 1, ok
}

func (e *testEnv) MemoSet(_ int, key string, value []byte, version int64) (uint64, error) {
	if _, ok := e.memo[key]; ok && version == 0 {
		return 0, fmt.Errorf("key %s: %w", key, abi.ErrConflict)
	}
	e.memo = map[string][]byte{key: value}
	return 1, nil
}

func (e *testEnv) Index(_ int, name string, key []byte) ([]byte, error) {
	if name != "i" {
		return nil, abi.ErrAbsent
	}
	return append([]byte("at "), key...), nil
}
