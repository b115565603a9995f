package compiler

import (
	"context"
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
	os.Exit(child(os.Args[1:], os.Stdin, os.Stderr)) //nolint:forbidigo // this process is for nothing else
}

// Offered reports whether Apart can be used: the program has called Main, and the system
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
func child(args []string, stdin io.Reader, stderr io.Writer) int {
	job, err := receive(args, stdin)
	if err == nil {
		err = validated(context.Background(), job) //nolint:forbidigo // the limits of the process end it
	}
	return report(err, stderr)
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
		strconv.Itoa(j.Memory), strconv.Itoa(len(j.Original)), strconv.Itoa(len(j.Prepared)),
	}
}

// receive sets the limits of this process and reads its job.
func receive(args []string, stdin io.Reader) (Job, error) {
	if len(args) != 6 {
		return Job{}, fmt.Errorf("the compiler got %d arguments", len(args))
	}
	var numbers [5]int
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
	job.Original, job.Prepared = make([]byte, numbers[3]), make([]byte, numbers[4])
	if err := errors.Join(limitFiles(uint64(job.maxFile())), confine(job.Dir)); err != nil {
		return Job{}, fmt.Errorf("limits of the compiler: %w", err)
	}
	for _, into := range [][]byte{job.Original, job.Prepared} {
		if _, err := io.ReadFull(stdin, into); err != nil {
			return Job{}, fmt.Errorf("input of the compiler: %w", err)
		}
	}
	return job, nil
}
