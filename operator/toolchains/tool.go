package toolchains

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ErrFailed says that a tool has failed. The tool has printed the reason.
var ErrFailed = errors.New("the build has failed")

// MissingError says that a tool is not installed.
type MissingError struct {
	What string   // the missing tool
	Get  []string // ways to get it: commands or addresses
}

// Error names the tool, and the ways to get it.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is missing: install it by %s", e.What, strings.Join(e.Get, ", or by "))
}

// grace is the time that a tool has to end after its interruption, before it is killed.
const grace = 5 * time.Second

// command is a tool with its arguments.
type command struct {
	folder    string
	name      string
	arguments []string
	variables []string // of the environment, NAME=VALUE, besides those of this process
}

func (c command) prepare(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.name, c.arguments...)
	cmd.Dir, cmd.Env = c.folder, append(os.Environ(), c.variables...)
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(os.Interrupt); err != nil { // as on Windows
			return cmd.Process.Kill()
		}
		return nil
	}
	cmd.WaitDelay = grace
	return cmd
}

// run runs a tool whose outputs are messages for the author.
func (c command) run(ctx context.Context, messages io.Writer) error {
	cmd := c.prepare(ctx)
	cmd.Stdout, cmd.Stderr = messages, messages
	return c.failure(ctx, cmd.Run())
}

// failure tells a tool that has failed from one that did not run.
func (c command) failure(ctx context.Context, err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &exit):
		return fmt.Errorf("%w: %s ended with %w", ErrFailed, filepath.Base(c.name), exit)
	}
	return fmt.Errorf("%w: %s: %w", ErrFailed, filepath.Base(c.name), err)
}

// answer is the standard output of a tool, without white space around it; empty if it fails.
func (c command) answer(ctx context.Context) string {
	output, err := c.prepare(ctx).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(output))
}

// announce says what takes long.
func announce(messages io.Writer, format string, arguments ...any) {
	fmt.Fprintf(messages, format+"\n", arguments...)
}
