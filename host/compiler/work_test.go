package compiler

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// A process that is started early and is not needed is ended, and leaves nothing.
func TestUnneededCompilerIsEnded(t *testing.T) {
	if !Offered() {
		t.Skip("no limits for processes on this system")
	}
	for name, use := range map[string]func(*Work){
		"at once":            func(*Work) {},
		"after the original": func(w *Work) { w.Original(bytes.Repeat([]byte{1}, 1<<20)) },
	} {
		t.Run(name, func(t *testing.T) {
			j := job(t, nil)
			w, err := Begin(t.Context(), j)
			if err != nil {
				t.Fatal(err)
			}
			use(w)
			w.Close()
			if w.process.starting == nil && w.process.cmd.ProcessState == nil {
				t.Error("the process was not waited for")
			}
			if left, err := os.ReadDir(j.Dir); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// The process validates the original before the host has the prepared module.
func TestInvalidModulesWithoutPreparedOnes(t *testing.T) {
	if !Offered() {
		t.Skip("no limits for processes on this system")
	}
	w, err := Begin(t.Context(), job(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.Original(asm.Guest(asm.I32Add).Encode())
	if _, err := w.Compile(t.Context(), asm.Guest(nil).Encode()); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "i32.add") {
		t.Errorf("error = %v", err)
	}
}

func TestBeginNeedsItsDirectory(t *testing.T) {
	j := job(t, nil)
	j.Dir += "/none"
	if _, err := Begin(t.Context(), j); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error = %v", err)
	}
}

// If several parts fail, the error is that of the first one, in a fixed order.
func TestFirstErrorOfTheCompiler(t *testing.T) {
	valid, invalid := asm.Guest(nil).Encode(), asm.Guest(asm.I32Add).Encode()
	var sent bytes.Buffer
	if err := sendModule(&sent, invalid); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name     string
		original []byte
		input    []byte
		want     string
	}{
		{"an invalid original and no prepared module", invalid, nil, "invalid: "},
		{"an invalid original and an invalid prepared module", invalid, sent.Bytes(), "invalid: "},
		{"no prepared module", valid, nil, "input of the compiler: EOF"},
		{"a part of the prepared module", valid, sent.Bytes()[:sent.Len()-1], "input of the compiler: unexpected EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for range 20 {
				err := work(t.Context(), Job{Dir: t.TempDir(), Original: test.original, MemoryPages: 16}, bytes.NewReader(test.input))
				if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("error = %v, want %q", err, test.want)
				}
			}
		})
	}
}

// The error of a module that cannot be compiled is not mixed with that of its shell.
func TestErrorOfTheModuleHidesThatOfItsShell(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	job := Job{Dir: file, Prepared: asm.Guest(nil).Encode(), MemoryPages: 16}
	for range 20 {
		err := fill(t.Context(), job)
		if err == nil || !strings.Contains(err.Error(), codeDir) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error = %v", err)
		}
	}
}

func TestGarbageOfTheCompiler(t *testing.T) {
	for memory, want := range map[int]string{1 << 30: "GOGC=3200", 4 << 30: "GOGC=12800", 64 << 20: "GOGC=400", 1: "GOGC=400"} {
		if got := (Job{Memory: memory, Time: time.Second}).environment(); !slices.Contains(got, want) {
			t.Errorf("%d bytes: %q, want %s", memory, got, want)
		}
	}
}
