package watchdog

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
)

// stuck is the environment variable that makes this program one that gets stuck.
const stuck = "WATCHDOG_TEST_STUCK"

func TestMain(m *testing.M) {
	if os.Getenv(stuck) != "" {
		getStuck()
	}
	os.Exit(m.Run())
}

// spinning is a module whose export f loops for ever.
var spinning = []byte("\x00asm\x01\x00\x00\x00" + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" +
	"\x07\x05\x01\x01f\x00\x00" + "\x0a\x09\x01\x07\x00\x03\x40\x0c\x00\x0b\x0b")

// getStuck runs machine code that Go cannot interrupt, and collects garbage.
func getStuck() {
	ctx := context.Background()
	go func() { // no goroutine waits for it: the process ends
		if err := run(ctx, 500*time.Millisecond); err != nil {
			panic(err)
		}
	}()
	m, err := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler()).Instantiate(ctx, spinning)
	if err != nil {
		panic(err)
	}
	time.Sleep(time.Second)                                  // for the watchdog to begin: with one processor, nothing runs after this
	go func() { _, _ = m.ExportedFunction("f").Call(ctx) }() // never returns
	time.Sleep(50 * time.Millisecond)
	for {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

func TestStuckProcessIsEnded(t *testing.T) {
	if !supported {
		t.Skip("no timers for this on this system")
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), stuck+"=yes")
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.String() != "signal: aborted" { // not the exit code 2 of wrong command lines
		t.Fatalf("error = %v\n%s", err, output)
	}
	for _, want := range []string{"SIGABRT: abort", "goroutine ", "getStuck"} {
		if !strings.Contains(string(output), want) {
			t.Errorf("no %q in what it said:\n%s", want, output)
		}
	}
}

// TestBusyProcessIsNotEnded: it computes for longer than the limit, but others get their turn.
func TestBusyProcessIsNotEnded(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	go func() { // ends with the context
		for ctx.Err() == nil {
			runtime.Gosched()
		}
	}()
	if err := run(ctx, 2500*time.Millisecond*time.Duration(runtime.GOMAXPROCS(0))); err != nil {
		t.Error(err)
	}
}
