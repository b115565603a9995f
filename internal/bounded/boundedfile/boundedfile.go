// Package boundedfile reads files that others may have written or named: a name can be that of a device without an end.
package boundedfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/kopf-wasm/kopf/internal/bounded"
)

// MaxModule bounds the file of a module, in bytes: the host loads none that is larger.
const MaxModule = 1 << 30

// MaxDocument bounds a file that people write in YAML, in bytes: the parser takes a hundred times as much memory.
const MaxDocument = 8 << 20

// Read reads a file of at most a number of bytes. It also reads pipes, which people name on command lines, but does not wait for
// writers: no signal would end that.
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
	content, err := readAll(file, info.Size(), limit)
	if errors.Is(err, bounded.ErrTooMuch) {
		return nil, tooLarge(path, limit)
	}
	if err != nil {
		return nil, err
	}
	if len(content) == 0 && info.Mode()&fs.ModeNamedPipe != 0 {
		return nil, fmt.Errorf("%s: no program writes to this pipe", path)
	}
	return content, nil
}

// piece is how much is read at once of a file that does not say how long it is, in bytes.
const piece = 1 << 20

// readAll reads a file to its end. It reads a file that is longer than it says, such as a device, in pieces: a buffer that grows takes
// four times the limit.
//
// Errors: bounded.ErrTooMuch, and those of the system.
func readAll(file io.Reader, size, limit int64) ([]byte, error) {
	var pieces [][]byte
	left, next := limit+1, size+bytes.MinRead
	for left > 0 {
		text := make([]byte, min(next, left))
		n, err := io.ReadFull(file, text)
		pieces = append(pieces, text[:n])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		left, next = left-int64(n), piece
	}
	switch {
	case left == 0:
		return nil, bounded.ErrTooMuch
	case len(pieces) == 1:
		return pieces[0], nil
	}
	return slices.Concat(pieces...), nil
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
