package compiler

import (
	"context"
	"os"

	"github.com/kopf-wasm/kopf/host/prepare"
)

// Work is the compilation of one module. It starts before the module is prepared, as the start
// of a process takes as long as the preparation.
type Work struct {
	job     Job      // its Dir is that of the result
	own     Job      // its Dir is temporary
	process *process // nil: this process compiles
}

// Begin starts a process that will compile a module: in programs that offer this, and else in
// this process. The job needs neither the original nor the prepared module. The caller hands
// these over, and closes the work.
//
// # Guarantees
//
//   - The process ends with the context, with Close, and at its limits of time and memory.
//   - It has no environment of this process, and nothing open but its own pipes.
//   - Where the system has Landlock (Linux 5.13 and later), it writes only files of a
//     bounded size in its own directory. In programs without C, it neither reads other files nor connects.
//     All of this holds before it reads a byte of the module.
//   - Its result is used only for the module of the job, whatever the process claims.
//   - It yields to this process: its priority is low, and the system ends it first when
//     memory runs out.
//
// # Errors
//
// Those of the file system. Compile reports that the process cannot be started.
func Begin(ctx context.Context, job Job) (*Work, error) { return begin(ctx, job, Offered()) }

func begin(ctx context.Context, job Job, apart bool) (*Work, error) {
	w := &Work{job: job, own: job}
	var err error
	if w.own.Dir, err = os.MkdirTemp(job.Dir, "compiling-*"); err != nil {
		return nil, err
	}
	if apart {
		w.process = startProcess(ctx, w.own)
	}
	return w, nil
}

// Original hands over the module that is to be validated, once and before Compile. A process
// validates it while the caller prepares the module.
func (w *Work) Original(wasm []byte) {
	w.own.Original = wasm
	if w.process != nil {
		w.process.send(wasm)
	}
}

// Compile compiles the prepared module, if the original is valid. It returns the path of the
// machine code below the directory of the job. It returns when the code is there: the process
// may still be ending.
//
// Errors: ErrInvalid; ErrLimit; ErrCrash; that of the context.
func (w *Work) Compile(ctx context.Context, prepared []byte) (file string, err error) {
	w.own.Prepared, w.job.Prepared, w.job.Original = prepared, prepared, w.own.Original
	if w.process != nil {
		w.process.send(prepared)
	}
	shell, err := prepare.Shell(prepared)
	switch {
	case err != nil:
	case w.process == nil:
		err = validated(ctx, w.own)
	default:
		err = w.process.result(ctx, w.own)
	}
	if err != nil {
		return "", err
	}
	return w.job.take(w.own, shell, w.process == nil)
}

// Close ends the process, and removes its directory. It returns when both are gone.
func (w *Work) Close() {
	if w.process != nil {
		w.process.end()
	}
	_ = os.RemoveAll(w.own.Dir) // remains are harmless
}

// whole does all the work for a module that is prepared already.
func (w *Work) whole(ctx context.Context, job Job) (file string, err error) {
	defer w.Close()
	w.Original(job.Original)
	return w.Compile(ctx, job.Prepared)
}

// Here compiles the module in this process, without limits. It returns the path of the
// machine code below the directory of the job.
//
// Errors: ErrInvalid.
func Here(ctx context.Context, job Job) (file string, err error) {
	w, err := begin(ctx, job, false)
	if err != nil {
		return "", err
	}
	return w.whole(ctx, job)
}

// Apart compiles the module in a separate process. For what it guarantees, see Begin.
//
// Errors: ErrInvalid; ErrLimit; ErrCrash; that of the context.
func Apart(ctx context.Context, job Job) (file string, err error) {
	w, err := begin(ctx, job, true)
	if err != nil {
		return "", err
	}
	return w.whole(ctx, job)
}
