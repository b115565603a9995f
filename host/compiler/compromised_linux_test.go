package compiler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// deedMark begins an "original module" that says what the compiler of these tests does, as one
// would do it that a module has taken over.
const deedMark = "deed "

// A process that compiles is limited as others are, compiles, and then does the deed, if there is one.
func init() {
	compromise = func() {
		if os.Args[0] != processName {
			return
		}
		job, err := receive(os.Args[1:], os.Stdin)
		deed, found := bytes.CutPrefix(job.Original, []byte(deedMark))
		switch {
		case err != nil:
		case string(deed) == "exit":
			os.Exit(7)
		case string(deed) == "exit without a result":
			os.Exit(0)
		case found:
			if job.Prepared, err = receiveModule(os.Stdin, func(int) error { return nil }); err == nil {
				err = fill(context.Background(), job)
			}
			if err == nil {
				err = do(job, strings.Fields(string(deed)))
			}
		default:
			err = work(context.Background(), job, os.Stdin)
		}
		if err == nil {
			_, err = os.Stdout.WriteString("\n")
		}
		os.Exit(report(err, os.Stderr))
	}
}

// do does a deed to a file outside of the folder of the job.
func do(job Job, deed []string) error {
	victim := deed[1]
	shells, err := filepath.Glob(filepath.Join(job.Dir, shellDir, "wazero-*", "*"))
	if err != nil || len(shells) != 1 {
		return fmt.Errorf("%v, %w", shells, err)
	}
	codes, err := filepath.Glob(filepath.Join(job.Dir, codeDir, "wazero-*", "*"))
	if err != nil || len(codes) != 1 {
		return fmt.Errorf("%v, %w", codes, err)
	}
	switch deed[0] {
	case "write":
		return os.WriteFile(victim, []byte("evil"), 0o600)
	case "truncate":
		return os.Truncate(victim, 0)
	case "remove":
		return os.Remove(victim)
	case "rename":
		return os.Rename(codes[0], victim)
	case "link":
		return os.Link(codes[0], victim+"2")
	case "make":
		return os.WriteFile(victim+"2", nil, 0o600)
	case "read":
		_, err := os.ReadFile(victim)
		return err
	case "connect":
		_, err := net.Dial("tcp", victim)
		return err
	case "large":
		return os.WriteFile(filepath.Join(job.Dir, "large"), make([]byte, job.maxFile()+1), 0o600)
	case "claim": // the place of the victim
		return os.Rename(shells[0], filepath.Join(filepath.Dir(shells[0]), filepath.Base(victim)))
	case "symlink":
		return errors.Join(os.Remove(codes[0]), os.Symlink(victim, codes[0]))
	case "symlinked-folder":
		return errors.Join(os.RemoveAll(filepath.Join(job.Dir, codeDir)), os.Symlink(filepath.Dir(filepath.Dir(victim)), filepath.Join(job.Dir, codeDir)))
	case "pipe":
		return errors.Join(os.Remove(codes[0]), unix.Mkfifo(codes[0], 0o600))
	case "folder":
		return errors.Join(os.Remove(codes[0]), os.Mkdir(codes[0], 0o700))
	}
	return fmt.Errorf("no deed %q", deed[0])
}

// A pipe that a compiler puts in place of the machine code at the last moment is refused, and
// nothing waits for its other end.
func TestPipeInPlaceOfMachineCode(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "code"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := job(t, nil).copyCode(filepath.Join(dir, "copy"), root, "code"); !errors.Is(err, ErrCrash) {
		t.Errorf("error = %v", err)
	}
}

// A process that ends before it has got its job, while the host still writes to it, is one error.
func TestCompilerThatEndsBeforeItsJob(t *testing.T) {
	if !Offered() {
		t.Skip("no limits for processes on this system")
	}
	for deed, want := range map[string]string{
		"exit":                  "the compiler crashed: exit status 7: ",
		"exit without a result": "the compiler crashed: it has ended without a result",
	} {
		t.Run(deed, func(t *testing.T) {
			j := job(t, nil)
			w, err := Begin(t.Context(), j)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			w.Original([]byte(deedMark + deed))
			large := asm.Guest(nil).With(asm.Func{Export: "large", Code: asm.Repeat(1<<20, 0x01)}).Encode()
			if _, err := w.Compile(t.Context(), large); !errors.Is(err, ErrCrash) || err.Error() != want {
				t.Errorf("error = %v, want %q", err, want)
			}
		})
	}
}

// A compiler that a module has taken over changes nothing outside of its folder, and its code
// becomes that of no other module.
func TestCompromisedCompiler(t *testing.T) {
	if !Offered() {
		t.Skip("no limits for processes on this system")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION); errno != 0 {
		t.Skipf("no Landlock on this system: %v", errno)
	}
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_GETPID, 0, 0, 0)
	linkedWithC := errors.Is(errno, syscall.ENOTSUP)
	one, other := asm.Guest(nil).Encode(), asm.Guest(nil).With(asm.Func{Export: "other"}).Encode()
	for _, test := range []struct {
		deed     string
		want     error  // what the error is
		words    string // what it says
		withoutC bool   // it is prevented in programs without C only
	}{
		{deed: "write", words: "permission denied"},
		{deed: "truncate", words: "permission denied"},
		{deed: "remove", words: "permission denied"},
		{deed: "rename", words: "permission denied"},
		{deed: "link", words: "permission denied"},
		{deed: "make", words: "permission denied"},
		{deed: "read", words: "permission denied", withoutC: true},
		{deed: "connect", words: "permission denied", withoutC: true},
		{deed: "large", want: ErrLimit, words: "its machine code is larger than 64 MiB"},
		{deed: "claim", want: ErrCrash, words: "machine code of another module"},
		{deed: "symlink", want: ErrCrash, words: "in place of a file"},
		{deed: "symlinked-folder", want: ErrLimit, words: "has left 0 files"},
		{deed: "pipe", want: ErrCrash, words: "in place of a file"},
		{deed: "folder", want: ErrCrash, words: "in place of a file"},
	} {
		t.Run(test.deed, func(t *testing.T) {
			if test.withoutC && linkedWithC {
				t.Skip("the program is linked with C")
			}
			j := job(t, other)
			victim, err := Here(t.Context(), j)
			if err != nil {
				t.Fatal(err)
			}
			victim = filepath.Join(j.Dir, victim)
			before, err := os.ReadFile(victim)
			if err != nil {
				t.Fatal(err)
			}
			target := victim
			if test.deed == "connect" {
				target = listener.Addr().String()
			}
			j.Original, j.Prepared = []byte(deedMark+test.deed+" "+target), one
			_, err = Apart(t.Context(), j)
			if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.words) {
				t.Errorf("error %v, want %v with %q", err, test.want, test.words)
			}
			after, err := os.ReadFile(victim)
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("the machine code of the other module has changed: %v", err)
			}
			left, err := filepath.Glob(filepath.Join(j.Dir, "*", "*"))
			if err != nil || !slices.Equal(left, []string{victim}) {
				t.Errorf("left: %q, %v", left, err)
			}
		})
	}
}
