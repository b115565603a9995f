// Package boundedfile reads files that others may have written or named: a name can be that of a device without an end.
package boundedfile

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/kopf-wasm/kopf/internal/bounded"
)

// MaxModule bounds the file of a module, in bytes: the host loads none that is larger.
const MaxModule = 1 << 30

// MaxDocument bounds a file that people write in YAML, in bytes: the parser takes a hundred times as much memory.
const MaxDocument = 8 << 20

// Read reads a file of at most a number of bytes. It also reads pipes, which people name on command lines, but does not wait until
// somebody writes to them: no signal would end that.
//
// Errors: bounded.ErrTooMuch, a pipe without a writer, and those of the system.
func Read(path string, limit int64) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, tooLarge(path, limit)
	}
	var content bytes.Buffer
	content.Grow(int(info.Size()) + bytes.MinRead) // so that it does not grow at the end
	if _, err := content.ReadFrom(io.LimitReader(file, limit+1)); err != nil {
		return nil, err
	}
	if int64(content.Len()) > limit {
		return nil, tooLarge(path, limit)
	}
	if content.Len() == 0 && info.Mode()&fs.ModeNamedPipe != 0 {
		return nil, fmt.Errorf("%s: nobody writes to this pipe", path)
	}
	return content.Bytes(), nil
}

// Open opens a file of which the caller reads a bounded part. As Read, it does not wait for a writer of a pipe, which
// is empty then.
func Open(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) }

func tooLarge(path string, limit int64) error {
	return fmt.Errorf("%s: %w: the file has more than %d MiB", path, bounded.ErrTooMuch, limit>>20)
}

// ReadNamed is Read for a file that another file names. It does not wait for pipes, and reads no devices.
//
// Errors: bounded.ErrTooMuch, a device, and those of the system.
func ReadNamed(path string, limit int64) ([]byte, error) {
	if err := CheckNamed(path); err != nil {
		return nil, err
	}
	return Read(path, limit)
}

// CheckNamed refuses a device, a pipe and a socket. It accepts a file that does not exist.
func CheckNamed(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.Mode()&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket|fs.ModeIrregular) != 0 {
		return fmt.Errorf("%s is not a regular file, and is named by another file: name it on the command line", path)
	}
	return nil
}
