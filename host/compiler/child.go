package compiler

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// processName is argument zero of a compiling process.
const processName = "kopf-compiler"

// offered reports whether this program has called Main, and so can be started to compile.
var offered atomic.Bool

// Main lets modules be compiled in processes of their own, which are this program,
// started again. It must be the first thing that main does: in such a process it
// compiles, and does not return; else it returns at once.
//
//	func main() {
//		compiler.Main()
//		…
//	}
//
// A program that does not call it compiles in its own process, where nothing but an
// estimate beforehand bounds what a crafted module takes.
func Main() {
	if len(os.Args) == 0 || os.Args[0] != processName {
		offered.Store(true)
		return
	}
	os.Exit(child(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) //nolint:forbidigo // this process is for nothing else
}

// Offered reports whether modules are compiled in separate processes: the program has called Main, and the system
// supports limits of processes.
func Offered() bool { return offered.Load() && limitable }

// Exit codes of the process, which writes the text of the error to standard error. Any other
// code means a crash.
const (
	exitFailed  = 1 // the module is not at fault
	exitInvalid = 3 // ErrInvalid
	exitTime    = 4 // the limit of computing, without a message
	exitSize    = 5 // the limit of the file size
)

// child runs in the compiling process.
func child(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	job, err := receive(args, stdin)
	if err == nil {
		err = work(context.Background(), job, stdin) //nolint:forbidigo // the limits of the process end it
	}
	if err == nil {
		_, err = stdout.Write([]byte{'\n'}) // the machine code is there: the parent does not wait for the exit
	}
	return report(err, stderr)
}

// work validates the original while it waits for the prepared module, which the parent is still
// making, and then compiles that. If both fail, the error is that of the validation.
func work(ctx context.Context, job Job, stdin io.Reader) error {
	valid := make(chan error, 1)
	go func() { valid <- Validate(ctx, job) }() // Waited for below.
	prepared, err := receiveModule(stdin, func(int) error { return nil })
	if invalid := <-valid; invalid != nil {
		return invalid
	}
	if err != nil {
		return fmt.Errorf("input of the compiler: %w", err)
	}
	job.Prepared = prepared
	return fill(ctx, job)
}

// report writes an error to standard error, and returns its exit code.
func report(err error, stderr io.Writer) (exitCode int) {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, syscall.EFBIG):
		return exitSize
	}
	fmt.Fprint(stderr, err)
	if errors.Is(err, ErrInvalid) {
		return exitInvalid
	}
	return exitFailed
}

// arguments returns the command line of a job. The modules are passed by standard input.
func (j Job) arguments() []string {
	return []string{
		processName, j.Dir, strconv.Itoa(int(j.MemoryPages)), strconv.Itoa(int((j.Time + time.Second - 1) / time.Second)),
		strconv.Itoa(j.Memory),
	}
}

// sendModule writes a module after its size.
func sendModule(to io.Writer, wasm []byte) error {
	if _, err := to.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(wasm)))); err != nil {
		return err
	}
	_, err := to.Write(wasm)
	return err
}

// receiveModule reads a module. It calls a function between the size and the module.
func receiveModule(from io.Reader, sized func(size int) error) ([]byte, error) {
	var size [8]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return nil, err
	}
	wasm := make([]byte, binary.LittleEndian.Uint64(size[:]))
	if err := sized(len(wasm)); err != nil {
		return nil, err
	}
	_, err := io.ReadFull(from, wasm)
	return wasm, err
}

// receive sets the limits of this process, and then reads the original module of its job.
func receive(args []string, stdin io.Reader) (Job, error) {
	if len(args) != 4 {
		return Job{}, fmt.Errorf("the compiler got %d arguments", len(args))
	}
	var numbers [3]int
	for i := range numbers {
		var err error
		if numbers[i], err = strconv.Atoi(args[i+1]); err != nil {
			return Job{}, fmt.Errorf("argument of the compiler: %w", err)
		}
	}
	job := Job{Dir: args[0], MemoryPages: uint32(numbers[0])}
	if err := limit(numbers[1], numbers[2]); err != nil {
		return Job{}, fmt.Errorf("limits of the compiler: %w", err)
	}
	if err := confine(job.Dir); err != nil {
		return Job{}, fmt.Errorf("limits of the compiler: %w", err)
	}
	var err error
	job.Original, err = receiveModule(stdin, func(size int) error { return limitFiles(uint64(maxFile(size))) })
	if err != nil {
		err = fmt.Errorf("input of the compiler: %w", err)
	}
	return job, err
}
