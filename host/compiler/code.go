package compiler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/tetratelabs/wazero"
)

// Names of the temporary directories.
const (
	codeDir  = "code"  // the engine's cache with the machine code of the module
	shellDir = "shell" // that of its shell
)

// take copies the machine code from a temporary directory to where the engine looks for that of
// the module's shell. It replaces existing code atomically. It returns the path below the
// directory of the job.
//
// The compiling process is not trusted, because the module may have taken it over. It
// chooses the path of the code, and could choose that of another module. take therefore
// copies the code, does not follow links, and accepts the path only if the engine looks there
// for this shell. The engine checks the code when it loads it.
func (j Job) take(work Job, shell []byte, trusted bool) (file string, err error) {
	root, err := os.OpenRoot(work.Dir) // no link leads out of it
	if err != nil {
		return "", err
	}
	defer root.Close()
	code, err := only(root, codeDir)
	if err != nil {
		return "", err
	}
	claimed, err := only(root, shellDir)
	if err != nil {
		return "", err
	}
	if file, err = filepath.Rel(shellDir, claimed); err != nil {
		return "", err
	}
	checked, err := os.MkdirTemp(j.Dir, "checking-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(checked) }() // remains are harmless
	if !trusted {
		if err := j.looksAt(checked, file, shell); err != nil {
			return "", err
		}
	}
	copied := filepath.Join(checked, "copy")
	if err := j.copyCode(copied, root, code); err != nil {
		return "", err
	}
	to := filepath.Join(j.Dir, file)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	return file, os.Rename(copied, to)
}

// copyCode copies the machine code out of the temporary directory. The process may still be
// changing that.
func (j Job) copyCode(path string, root *os.Root, code string) error {
	from, err := root.OpenFile(code, os.O_RDONLY|nonblocking, 0) // it may be a pipe now
	if err != nil {
		return err
	}
	defer from.Close()
	if err := regular(from.Stat()); err != nil {
		return err
	}
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(to, io.LimitReader(from, j.maxFile()+1))
	if err == nil && n > j.maxFile() {
		err = j.tooLarge()
	}
	return errors.Join(err, to.Close())
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
	return files[0], regular(root.Lstat(files[0]))
}

// regular returns an error unless something is a regular file.
func regular(info fs.FileInfo, err error) error {
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: it has left %v in place of a file", ErrCrash, info.Mode())
	}
	return err
}

// looksAt returns an error unless the engine looks for the machine code of a shell at a path
// below its directory. At this path is a link to itself: opening it fails with ELOOP. If there were
// real code, the engine would load it, which takes as long as loading the module.
func (j Job) looksAt(dir, file string, shell []byte) error {
	path := filepath.Join(dir, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.Symlink(filepath.Base(path), path); err != nil {
		return err
	}
	ctx := context.Background() //nolint:forbidigo // nothing blocks
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return err
	}
	rt := wazero.NewRuntimeWithConfig(ctx, Config(j.MemoryPages).WithCompilationCache(cache))
	_, err = rt.CompileModule(OnlyCached(ctx), shell)
	switch {
	case errors.Is(err, syscall.ELOOP):
		err = nil
	case err == nil, errors.Is(err, context.Canceled):
		err = fmt.Errorf("%w: it has left machine code of another module", ErrCrash)
	default:
		err = fmt.Errorf("%w: it has left machine code of another module: %w", ErrCrash, err)
	}
	return errors.Join(err, rt.Close(ctx), cache.Close(ctx))
}

// maxFile bounds a file that the compiler writes, in bytes: far above any real machine code.
// The size of the original is known before the compiling process reads it.
func (j Job) maxFile() int64 { return maxFile(len(j.Original)) }

func maxFile(original int) int64 { return 64<<20 + 32*int64(original) }

func (j Job) tooLarge() error {
	return fmt.Errorf("%w: too complex: its machine code is larger than %d MiB", ErrLimit, j.maxFile()>>20)
}
