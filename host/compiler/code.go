package compiler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"

	"github.com/kopf-wasm/kopf/host/prepare"
)

// Names of the temporary directories.
const (
	codeDir  = "code"  // the engine's cache with the machine code of the module
	shellDir = "shell" // that of its shell
)

// leave runs made with a temporary directory, and moves the machine code to where the engine
// looks for that of the module's shell: see prepare.Shell. It replaces existing code
// atomically. It returns the path below the directory of the job.
//
// The compiling process is not trusted, because the module may have taken it over. It
// chooses the path of the code, and could choose that of another module. leave therefore
// copies the code, does not follow links, and accepts the code only if the engine finds it
// for this shell.
func (j Job) leave(made func(work Job) error) (file string, err error) {
	work := j
	if work.Dir, err = os.MkdirTemp(j.Dir, "compiling-*"); err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work.Dir) }() // remains are harmless
	if err := made(work); err != nil {
		return "", err
	}
	checked, err := os.MkdirTemp(j.Dir, "checking-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(checked) }()
	if file, err = work.copyCode(checked); err != nil {
		return "", err
	}
	if err := j.finds(checked); err != nil {
		return "", err
	}
	to := filepath.Join(j.Dir, file)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	return file, os.Rename(filepath.Join(checked, file), to)
}

// copyCode copies the machine code to the path at which the engine looks for it. It returns
// the path below the directory.
func (j Job) copyCode(dir string) (file string, err error) {
	root, err := os.OpenRoot(j.Dir) // no link leads out of it
	if err != nil {
		return "", err
	}
	defer root.Close()
	code, err := only(root, codeDir)
	if err != nil {
		return "", err
	}
	shell, err := only(root, shellDir)
	if err != nil {
		return "", err
	}
	if file, err = filepath.Rel(shellDir, shell); err != nil {
		return "", err
	}
	from, err := root.Open(code)
	if err != nil {
		return "", err
	}
	defer from.Close()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
		return "", err
	}
	to, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	n, err := io.Copy(to, io.LimitReader(from, j.maxFile()+1))
	if err == nil && n > j.maxFile() {
		err = j.tooLarge()
	}
	return file, errors.Join(err, to.Close())
}

// only returns the path of the single regular file in an engine's cache.
func only(root *os.Root, dir string) (string, error) {
	files, err := fs.Glob(root.FS(), dir+"/wazero-*/*")
	switch {
	case err != nil:
		return "", err
	case len(files) != 1: // without enough memory, the engine falls back to its interpreter
		return "", fmt.Errorf("%w: the compiler has left %d files, not one", ErrLimit, len(files))
	}
	info, err := root.Lstat(files[0])
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: it has left %v in place of a file", ErrCrash, info.Mode())
	}
	return files[0], err
}

// finds returns an error if the engine does not find machine code for the shell of the
// module in a directory.
func (j Job) finds(dir string) error {
	shell, err := prepare.Shell(j.Prepared)
	if err != nil {
		return err
	}
	ctx := context.Background() //nolint:forbidigo // nothing blocks
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return err
	}
	rt := wazero.NewRuntimeWithConfig(ctx, Config(j.MemoryPages).WithCompilationCache(cache))
	if _, err = rt.CompileModule(OnlyCached(ctx), shell); err != nil {
		err = fmt.Errorf("%w: it has left machine code of another module: %w", ErrCrash, err)
	}
	return errors.Join(err, rt.Close(ctx), cache.Close(ctx))
}

// maxFile bounds a file that the compiler writes, in bytes: far above any real machine code.
func (j Job) maxFile() int64 { return 64<<20 + 32*int64(len(j.Prepared)) }

func (j Job) tooLarge() error {
	return fmt.Errorf("%w: too complex: its machine code is larger than %d MiB", ErrLimit, j.maxFile()>>20)
}
