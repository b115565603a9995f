package host

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
)

// pythonAttacks is a script that attacks its host, as the object says.
const pythonAttacks = `
import kopf, sys

def recursion(): return recursion()

def nested_repr():
    a = []
    for _ in range(100_000): a = [a]
    return len(repr(a))

def deep_expression():
    return eval('-' * 200_000 + '1')

def bytes_bomb():
    kept = []
    while True: kept.append(bytearray(10_000_000))

def int_bomb():
    return 1 << (1 << 40)

def forever():
    while True: pass

def regex():
    import re
    return re.match(r'(a+)+$', 'a' * 64 + 'b')

def generator():
    def endless():
        while True: yield 1
    return sum(endless())

def flood():
    for _ in range(200_000): print('x' * 100)

def exits(): sys.exit(3)

def kills():
    import os
    os.abort()

def files(): return open('/etc/passwd').read()

def process():
    import subprocess
    return subprocess.run(['ls'])

def thread():
    import threading
    threading.Thread(target=print).start()

def unpickles():
    import pickle
    return pickle.loads(b"cos\nsystem\n(S'ls'\ntR.")

def frames():
    while sys._getframe(): sys._getframe().f_globals.clear()

class Undead:
    def __del__(self):
        global undead
        undead = self
        raise RuntimeError('again')

def finalizer():
    for _ in range(1000): Undead()
    return 'harmless'

@kopf.on.create('kopfexamples')
def fn(spec, **_):
    return globals()[spec['attack']]() if spec.get('attack') else 'fine'
`

// engineOf reads the engine of scripts in a language: python or javascript.
func engineOf(t *testing.T, language string) []byte {
	t.Helper()
	engine, err := os.ReadFile("../bin/engines/" + language + ".wasm")
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") != "true" {
		t.Skipf("SKIPPED: no engine of %s: `make engines` builds it, or says what is missing", language)
	}
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// A script in Python harms its own call only: the next call works, whatever the one before did.
func TestPythonAttacks(t *testing.T) {
	t.Parallel()
	m := loaded(t, "attacks.py", engineOf(t, "python"), Options{
		ComputeLimit: 4 * time.Second, MaxMemory: 96 << 20, MaxIdle: 1,
		Config: map[string]string{"KOPF_SCRIPT": pythonAttacks, "KOPF_SCRIPT_NAME": "attacks.py"},
	})
	inv := &abi.Invocation{Kind: abi.KindCreate, ID: "fn", Name: "obj1", Namespace: "ns1"}
	for _, test := range []struct{ attack, want string }{
		{"recursion", "recursion"},
		{"nested_repr", "recursion"},
		{"deep_expression", ""},
		{"bytes_bomb", "MemoryError: out of memory: the instance uses "},
		{"int_bomb", ""},
		{"forever", "computed too long"},
		{"regex", "computed too long"},
		{"generator", "computed too long"},
		{"flood", ""},
		{"exits", ""},
		{"kills", ""},
		{"files", "/etc/passwd"},
		{"process", ""},
		{"thread", "thread"},
		{"unpickles", ""},
		{"finalizer", "harmless"},
		{"frames", ""}, // the last one: it breaks the script in this instance
	} {
		t.Run(test.attack, func(t *testing.T) {
			outcome := attacked(t, m, inv, test.attack)
			if !strings.Contains(strings.ToLower(outcome), strings.ToLower(test.want)) {
				t.Errorf("outcome %q, want %q", outcome, test.want)
			}
			if got := attacked(t, m, inv, ""); got != `"fine"` {
				t.Errorf("the next call: %s", got)
			}
		})
	}
}

// attacked is the result of a call, or its error.
func attacked(t *testing.T, m *Module, inv *abi.Invocation, attack string) string {
	t.Helper()
	body := fmt.Appendf(nil, `{"metadata":{"name":"obj1","namespace":"ns1","uid":"u"},"spec":{"attack":%q}}`, attack)
	task, step, err := m.Start(t.Context(), inv, body, &testEnv{})
	if err != nil {
		return err.Error()
	}
	defer task.Release(t.Context())
	if step.Error != nil {
		return step.Error.Type + ": " + step.Error.Message
	}
	return string(step.Result)
}

// A script that cannot be compiled is refused with Python's own message and the line.
func TestPythonSyntaxErrors(t *testing.T) {
	t.Parallel()
	engine := engineOf(t, "python")
	for script, want := range map[string]string{
		"import kopf\ndef f(:\n":                "op.py:2: SyntaxError: invalid syntax",
		"import kopf\n\nimport nothing_like_it": "op.py:3: ModuleNotFoundError: No module named 'nothing_like_it'",
		"raise SystemExit(3)":                   "SystemExit",
	} {
		_, err := Load(t.Context(), "op.py", engine, withCache(t, Options{Config: map[string]string{"KOPF_SCRIPT": script, "KOPF_SCRIPT_NAME": "op.py"}}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", script, err, want)
		}
	}
}

// forged is an environment whose memo has a value that another module of the operator has stored: a part of an object, whose author
// knows the form of values that JSON cannot hold.
type forged struct{ testEnv }

func (e *forged) MemoGet(_ int, key string) ([]byte, uint64, bool) {
	if key != "k" {
		return e.testEnv.MemoGet(0, key)
	}
	return fmt.Appendf(nil, `{"$python":%q,"$seal":"00000000000000000000000000000000"}`, base64.StdEncoding.EncodeToString([]byte("cbuiltins\neval\n(S'40 + 2'\ntR."))), 1, true
}

func (e *forged) MemoSet(_ int, key string, value []byte, _ int64) (uint64, error) {
	if e.memo == nil {
		e.memo = map[string][]byte{}
	}
	e.memo[key] = value
	return 1, nil
}

func (e *forged) Index(int, string, []byte) ([]byte, error) {
	value, _, _ := e.MemoGet(0, "k")
	return fmt.Appendf(nil, `[{"$python":"Y2J1aWx0aW5zCmV2YWwKKFMnNDAgKyAyJwp0Ui4="},%s]`, value), nil
}

// Values of memos and indices that other modules have stored are data for scripts in Python: those who write objects could otherwise
// run code in the operator. What a script itself stores comes back as it was.
func TestPythonRunsNoValues(t *testing.T) {
	t.Parallel()
	m := loaded(t, "forged.py", engineOf(t, "python"), Options{Config: map[string]string{"KOPF_SCRIPT_NAME": "forged.py", "KOPF_SCRIPT": `
import datetime, kopf

@kopf.index('kopfexamples')
def i(**_): return 1

@kopf.on.create('kopfexamples')
def fn(memo, i, **_):
    own = [{1, 2}, {'$python': 'x'}, {'a': {'$python': 'x', '$seal': 'y'}}, datetime.date(2026, 1, 2), (1, (2,))]
    for number, value in enumerate(own):
        memo[f'own{number}'] = value
    kept = all(memo[f'own{number}'] == value and type(memo[f'own{number}']) is type(value) for number, value in enumerate(own))
    return [type(memo['k']).__name__, [type(value).__name__ for value in i['x']], kept]
`}})
	inv := &abi.Invocation{Kind: abi.KindCreate, Handler: 1, ID: "fn", Name: "obj1", Namespace: "ns1", Indices: []string{"i"}}
	for range 3 {
		task, step, err := m.Start(t.Context(), inv, []byte(`{"metadata":{"name":"obj1","namespace":"ns1","uid":"u"}}`), &forged{})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(step.Result); got != `["dict",["dict","dict"],true]` {
			t.Errorf("%s, %+v", got, step.Error)
		}
		task.Release(t.Context())
	}
}

// changing is an environment whose values change between any two looks.
type changing struct {
	testEnv
	sizes []int // of the values, one after another; absent: -1
}

func (e *changing) MemoGet(int, string) ([]byte, uint64, bool) {
	size := e.sizes[0]
	if e.sizes = e.sizes[1:]; size < 0 {
		return nil, 0, false
	}
	return fmt.Appendf(nil, "%q", strings.Repeat("x", size)), uint64(size), true
}

// Another handler replaces a value while a script in Python reads it: the script gets one value or the other, and no memory that
// nothing was written to.
func TestPythonReadsWholeValues(t *testing.T) {
	t.Parallel()
	m := loaded(t, "memo.py", engineOf(t, "python"), Options{Config: map[string]string{"KOPF_SCRIPT_NAME": "memo.py", "KOPF_SCRIPT": `
import kopf

@kopf.on.create('kopfexamples')
def fn(memo, **_):
    value = memo.get('k')
    return None if value is None else [len(value), value.strip('x')]
`}})
	for _, test := range []struct {
		sizes []int
		want  string
	}{
		{[]int{10}, `[10,""]`},
		{[]int{100_000, 100_000}, `[100000,""]`},
		{[]int{10_000, 9_000}, `[9000,""]`},
		{[]int{100_000, 5}, `[5,""]`},
		{[]int{10_000, 20_000, 20_000}, `[20000,""]`},
		{[]int{10_000, 20_000, 30_000, 7}, `[7,""]`},
		{[]int{10_000, -1}, "null"},
		{[]int{10_000, 20_000, -1}, "null"},
	} {
		task, step, err := m.Start(t.Context(), &abi.Invocation{Kind: abi.KindCreate, ID: "fn", Name: "obj1", Namespace: "ns1"}, []byte(`{"metadata":{"name":"obj1","namespace":"ns1","uid":"u"}}`), &changing{sizes: append(test.sizes, test.sizes[len(test.sizes)-1])})
		if err != nil {
			t.Errorf("%v: %v", test.sizes, err)
			continue
		}
		if got := strings.ReplaceAll(string(step.Result), " ", ""); got != test.want && !(test.want == "null" && got == "") {
			t.Errorf("%v: %.100s, %+v; want %s", test.sizes, got, step.Error, test.want)
		}
		task.Release(t.Context())
	}
}
