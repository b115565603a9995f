package compiler

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Apart compiles the module in a separate process.
//
// # Guarantees
//
//   - The process ends with the context, and at its limits of time and memory.
//   - It has no environment and nothing open but its own pipes.
//   - Where the system has Landlock (Linux 5.13 and later), it writes only files of a
//     bounded size in its own directory. In programs without C, it neither reads other files nor connects.
//   - Its result is used only for the module of the job, whatever the process claims.
//   - It yields to this process: its priority is low, and the system ends it first when
//     memory runs out.
//
// # Errors
//
// ErrInvalid; ErrLimit; ErrCrash; that of the context.
func Apart(ctx context.Context, job Job) (file string, err error) {
	return job.leave(func(work Job) error { return apart(ctx, work) })
}

func apart(ctx context.Context, job Job) error {
	program, err := thisProgram()
	if err != nil {
		return fmt.Errorf("starting the compiler: %w", err)
	}
	stderr := &firstBytes{}
	cmd := exec.CommandContext(ctx, program)
	cmd.Args = job.arguments()
	cmd.Env = []string{"GOTRACEBACK=none"}
	cmd.Stdin = io.MultiReader(bytes.NewReader(job.Original), bytes.NewReader(job.Prepared))
	cmd.Stdout, cmd.Stderr = io.Discard, stderr // a pipe: the thread that starts the process opens no file
	cmd.WaitDelay = time.Second
	detach(cmd)
	starting := start(cmd, job.Dir)
	if starting == nil {
		err = cmd.Wait()
	}
	switch {
	case ctx.Err() != nil && (starting != nil || err != nil):
		return fmt.Errorf("compiling: %w", context.Cause(ctx))
	case starting != nil:
		return fmt.Errorf("starting the compiler: %w", starting)
	case err == nil:
		return nil
	}
	return job.explain(cmd, err, stderr.text.String())
}

// explain returns the error of a failed process.
func (j Job) explain(cmd *exec.Cmd, err error, said string) error {
	state := cmd.ProcessState
	switch {
	case state == nil:
		return fmt.Errorf("compiling: %w", err)
	case state.ExitCode() == exitInvalid:
		return fmt.Errorf("%w: %s", ErrInvalid, strings.TrimPrefix(said, ErrInvalid.Error()+": "))
	case state.ExitCode() == exitSize:
		return j.tooLarge()
	case state.ExitCode() == exitTime, state.UserTime()+state.SystemTime() >= j.Time: // or it was killed at the hard limit
		return fmt.Errorf("%w: too complex: compiling it takes more than %v of computing", ErrLimit, j.Time)
	case slices.ContainsFunc(starving, func(words string) bool { return strings.Contains(said, words) }):
		return fmt.Errorf("%w: too complex: compiling it takes more than %d MiB of memory", ErrLimit, j.Memory>>20)
	case state.ExitCode() < 0 && killed(state):
		return fmt.Errorf("%w: the compiler was killed, maybe for lack of memory", ErrLimit)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	if state.ExitCode() == exitFailed {
		return fmt.Errorf("compiling: %s", first)
	}
	return fmt.Errorf("%w: %w: %s", ErrCrash, err, first)
}

// starving lists the messages of runtimes without memory for the heap or for a thread.
var starving = []string{"out of memory", "cannot allocate memory", "Resource temporarily unavailable"}

// firstBytes keeps the beginning of its input.
type firstBytes struct{ text strings.Builder }

func (f *firstBytes) Write(data []byte) (int, error) {
	f.text.Write(data[:min(len(data), 4096-min(4096, f.text.Len()))])
	return len(data), nil
}
