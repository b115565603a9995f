package host

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kopf-wasm/kopf/host/prepare"
	"github.com/kopf-wasm/kopf/internal/private"
)

// cacheDir finds the folder of compiled code and makes it. It is empty if there
// is none: by wish, or where no folder can be used by default, as in a container that cannot write.
func cacheDir(dir string) (string, error) {
	if dir == CacheOff {
		return "", nil
	}
	chosen := dir != ""
	if !chosen {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", nil //nolint:nilerr // no home folder: no cache
		}
		dir = filepath.Join(base, "kopf", "wasm")
	}
	if err := private.Folder(dir); err != nil {
		if !chosen && !errors.Is(err, private.ErrShared) {
			return "", nil //nolint:nilerr // a folder that cannot be made: no cache
		}
		return "", err
	}
	return dir, nil
}

// preparedFile is where the rewritten form of a module is kept; empty without a cache.
func preparedFile(dir, digest string, limits prepare.Limits) string {
	if dir == "" {
		return ""
	}
	_, sum, _ := strings.Cut(digest, ":")
	return filepath.Join(dir, fmt.Sprintf("%s-%d.prepared", sum, limits.MemoryPages))
}

// saveLoadable writes what was saved of a module, with the sum of its machine code in the same
// folder, at once: others see all of it or nothing.
func saveLoadable(file, machineCode string, saved []byte) error {
	if file == "" {
		return nil
	}
	sum, err := sumOf(filepath.Join(filepath.Dir(file), machineCode))
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), "*.temp")
	if err != nil {
		return err
	}
	_, err = temp.Write(append([]byte(machineCode+"\n"+sum+"\n"), saved...))
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

// errChanged says that files of the cache are not what they were when they were written.
var errChanged = errors.New("the machine code has changed")

// readLoadable reads what was saved of a module, if its machine code is unchanged: the engine
// itself does not notice all that a broken disk can do to it.
func readLoadable(dir, file string) ([]byte, error) {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil, errChanged
	}
	saved, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	machineCode, saved, _ := bytes.Cut(saved, []byte("\n"))
	sum, saved, _ := bytes.Cut(saved, []byte("\n"))
	switch now, err := sumOf(filepath.Join(dir, string(machineCode))); {
	case err != nil:
		return nil, err
	case now != string(sum):
		return nil, errChanged
	}
	return saved, nil
}

// sumOf is a sum of a file against accidents: the folder is its owner's alone.
func sumOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errChanged
	}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return strconv.FormatUint(uint64(sum.Sum32()), 16), nil
}

// exchangeDir makes a folder of this user alone for a moment, where a process that
// compiles leaves its result: on disk, or in memory, where the disk cannot be written.
func exchangeDir() (string, error) {
	dir, err := os.MkdirTemp("", "kopf-wasm-*")
	if err != nil {
		dir, err = os.MkdirTemp("/dev/shm", "kopf-wasm-*")
	}
	return dir, err
}
