package compiler

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// process is a process that compiles one module. It gets the modules by its standard input,
// one after the other, and says by its standard output that the machine code is there.
type process struct {
	cmd    *exec.Cmd
	input  io.WriteCloser
	said   firstBytes
	cancel context.CancelFunc

	modules chan []byte   // what is to be written to the input
	fed     chan struct{} // closed when nothing more is written to it
	done    chan struct{} // closed when the process says that the code is there
	ended   chan struct{} // closed when the process has ended, or could not be started

	starting error // why it could not be started; valid after ended
	err      error // how it has ended; valid after ended
}

// startProcess starts a process, without waiting until it runs. The caller ends it.
func startProcess(ctx context.Context, job Job) *process {
	p := &process{modules: make(chan []byte, 2), fed: make(chan struct{}), done: make(chan struct{}), ended: make(chan struct{})}
	ctx, p.cancel = context.WithCancel(ctx)
	go p.run(ctx, job) // end waits for it
	return p
}

// run starts the process, and returns when it has ended.
func (p *process) run(ctx context.Context, job Job) {
	defer close(p.ended)
	if p.starting = p.start(ctx, job); p.starting != nil {
		close(p.fed)
		return
	}
	go p.feed() // end waits for it
	p.err = p.cmd.Wait()
}

// start starts the process.
func (p *process) start(ctx context.Context, job Job) error {
	program, err := thisProgram()
	if err != nil {
		return err
	}
	p.cmd = exec.CommandContext(ctx, program)
	p.cmd.Args, p.cmd.Env = job.arguments(), job.environment()
	p.cmd.Stdout, p.cmd.Stderr = &firstWrite{done: p.done}, &p.said // pipes: the thread that starts the process opens no file
	p.cmd.WaitDelay = time.Second
	detach(p.cmd)
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	return start(p.cmd, job.Dir)
}

// send passes a module to the process, without waiting for it. A process gets two of them.
func (p *process) send(wasm []byte) { p.modules <- wasm }

// feed writes the modules until end is called. If the process has ended, writing fails, and
// result says why.
func (p *process) feed() {
	defer close(p.fed)
	var err error
	for wasm := range p.modules {
		if err == nil {
			err = sendModule(p.input, wasm)
		}
	}
}

// result waits until the machine code is there, or the process has ended.
func (p *process) result(ctx context.Context, job Job) error {
	select {
	case <-p.done:
		return nil
	case <-p.ended:
	}
	select {
	case <-p.done: // both
		return nil
	default:
	}
	switch {
	case ctx.Err() != nil && (p.starting != nil || p.err != nil):
		return fmt.Errorf("compiling: %w", context.Cause(ctx))
	case p.starting != nil:
		return fmt.Errorf("starting the compiler: %w", p.starting)
	case p.err == nil:
		return fmt.Errorf("%w: it has ended without a result", ErrCrash)
	}
	return job.explain(p.cmd, p.err, p.said.text.String())
}

// end ends the process, and returns when nothing of it is left.
func (p *process) end() {
	p.cancel()
	close(p.modules)
	<-p.ended
	<-p.fed
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

// starving lists the messages of runtimes without memory for the heap, for a thread, or for themselves: Go's runtime does not
// check all of its own allocations. A fault of other code would be a panic.
var starving = []string{"out of memory", "cannot allocate memory", "Resource temporarily unavailable", "SIGSEGV: segmentation violation"}

// firstWrite closes a channel at the first write.
type firstWrite struct {
	done chan struct{}
	once sync.Once
}

func (f *firstWrite) Write(data []byte) (int, error) {
	f.once.Do(func() { close(f.done) })
	return len(data), nil
}

// firstBytes keeps the beginning of its input.
type firstBytes struct{ text strings.Builder }

func (f *firstBytes) Write(data []byte) (int, error) {
	f.text.Write(data[:min(len(data), 4096-min(4096, f.text.Len()))])
	return len(data), nil
}
