//go:build unix && !wasip1

package kopf

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// Main runs the operator natively, for breakpoints and profilers, and never returns:
//
//	func main() { kopf.Main() }
//
// With it, `go run . -n default` does as `kopf run operator.wasm -n default`: the arguments are
// those of `kopf run`, without the module. The program starts kopf, that on the PATH or of the
// variable KOPF, and ends with it and its exit code. Handlers run in this process, without
// a sandbox and without limits: one that computes or blocks makes the others wait. In
// a module, Main does nothing.
func Main() {
	code, err := runNatively(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "kopf:", err)
	}
	os.Exit(code) //nolint:forbidigo // it is the main of the program
}

// runNatively starts kopf and serves it until it ends. It returns its exit code.
func runNatively(args []string) (int, error) {
	ours, theirs, err := pair()
	if err != nil {
		return 2, err
	}
	cmd := exec.Command(cmp.Or(os.Getenv("KOPF"), "kopf"), append([]string{"run", "-"}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, os.Stdout, os.Stderr
	// A terminal sends SIGINT to its whole process group, others to one process. In a group of its own, kopf gets
	// each signal once, from here. Notify comes first: a shell starts commands in the background with SIGINT
	// ignored, and kopf would inherit this.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		return 2, fmt.Errorf("%w (set KOPF to the path of the program)", err)
	}
	go func() { // Ends with the process.
		for sig := range signals {
			_ = cmd.Process.Signal(sig) // it has ended, or it ends
		}
	}()
	_ = theirs.Close() // it has its own
	served := guest.Default.Serve(ours)
	_ = ours.Close() // so that kopf ends, if we have failed
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return 2, err
	}
	return cmd.ProcessState.ExitCode(), served
}

// pair is a connection with itself. Its ends are not inherited by other programs.
func pair() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	return os.NewFile(uintptr(fds[0]), "kopf"), os.NewFile(uintptr(fds[1]), "program"), nil
}
