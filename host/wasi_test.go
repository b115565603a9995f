package host

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/wasi"
)

// writes remembers each write.
type writes struct {
	mu  sync.Mutex
	all []string
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, string(p))
	return len(p), nil
}

func TestStreams(t *testing.T) {
	var stdout, stderr writes
	m := loadGo(t, Options{Stdout: &stdout, Stderr: &stderr})
	result(t, m, "print", &testEnv{})
	if diff := cmp.Diff([]string{"one\n", "two\n"}, stdout.all); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"three\n"}, stderr.all); diff != "" {
		t.Error(diff)
	}
}

// TestOutputIsLimited: what one module writes in a second is bounded, and what was dropped is counted and reported.
func TestOutputIsLimited(t *testing.T) {
	var stdout, stderr writes
	m := loadGo(t, Options{Stdout: &stdout, Stderr: &stderr, LogLimit: 100_000})
	began := time.Now()
	for range 3 { // of 3,000 lines of 1,000 bytes each
		result(t, m, "print much", &testEnv{})
	}
	most := 100_000 * (2 + int(time.Since(began).Seconds()))
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines := len(stdout.all)
	if n := lines * 1000; n < 97_000 || n > most {
		t.Errorf("%d bytes were written", n)
	}
	if got := m.Usage().Dropped; got != int64(9000-lines) {
		t.Errorf("%d lines counted as dropped, %d were written", got, lines)
	}
	reported := 0
	for _, line := range stderr.all {
		var n int
		if _, err := fmt.Sscanf(line, "guest.wasm: %d lines dropped: more than 100000 bytes a second are written\n", &n); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		reported += n
	}
	if reported != 9000-lines || len(stderr.all) > 2+int(time.Since(began).Seconds()) {
		t.Errorf("%d lines reported as dropped in %d lines", reported, len(stderr.all))
	}
}

// TestOutputIsEscaped: what a guest writes to its standard streams, by whatever way, cannot control a terminal.
func TestOutputIsEscaped(t *testing.T) {
	const text = "\x1b]0;title\a\x1b[2J\rforged\u202e\xff\n"
	g := asm.Guest(asm.Cat(asm.I32Const(2), asm.I32Const(3000), asm.I32Const(1), asm.I32Const(3016), asm.Call(0), asm.Drop))
	g.Imports = []asm.Import{{Module: wasi.Module, Name: "fd_write", Params: []byte{asm.I32, asm.I32, asm.I32, asm.I32}, Results: []byte{asm.I32}}}
	iovec := string([]byte{0xd0, 0x0b, 0, 0, byte(len(text)), 0, 0, 0}) // 3024, the length
	g.Data = append(g.Data, asm.Data{Offset: 3000, Bytes: iovec}, asm.Data{Offset: 3024, Bytes: text})
	var out writes
	m, err := load(t, g.Encode(), Options{Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Start(t.Context(), invoke(""), nil, &testEnv{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`\u001b]0;title\u0007\u001b[2J\rforged\u202e\xff` + "\n"}, out.all); diff != "" {
		t.Error(diff)
	}
}

func TestClockStandsStillWhileComputing(t *testing.T) {
	m := loadGo(t, Options{})
	if got := result(t, m, "still", &testEnv{}); got != "0" {
		t.Errorf("%s ns went by", got)
	}
}

func TestCollectionsWorkWithAStandingClock(t *testing.T) {
	m := loadGo(t, Options{RetireMemory: 1 << 30})
	for range 20 {
		if got := result(t, m, "garbage", &testEnv{}); got != "100690" {
			t.Errorf("garbage = %s", got)
		}
	}
}

func TestRandomNumbersDiffer(t *testing.T) {
	m := loadGo(t, Options{RetireCalls: 1, NoClones: true})
	a, b := result(t, m, "rand", &testEnv{}), result(t, m, "rand", &testEnv{})
	if a == b {
		t.Errorf("both are %s", a)
	}
}

func TestEmptySystem(t *testing.T) {
	t.Setenv("KOPF_TEST", "visible")
	m := loadGo(t, Options{})
	if got := result(t, m, "environment", &testEnv{}); got != `"[operator] 0 true"` {
		t.Errorf("arguments, environment, no file: %s", got)
	}
}
