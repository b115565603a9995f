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
	"github.com/kopf-wasm/kopf/internal/atomicfile"
	"github.com/kopf-wasm/kopf/internal/private"
)

// cacheDir finds and creates the directory of compiled code. It returns an empty path if the
// cache is off, or if no default directory can be created, as in a read-only container.
func cacheDir(dir string) (string, error) {
	if dir == CacheOff {
		return "", nil
	}
	chosen := dir != ""
	if !chosen {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", nil //nolint:nilerr // no home directory: no cache
		}
		dir = filepath.Join(base, "kopf", "wasm")
	}
	if err := private.Folder(dir); err != nil {
		if !chosen && !errors.Is(err, private.ErrShared) {
			return "", nil //nolint:nilerr // the directory cannot be created: no cache
		}
		return "", err
	}
	return dir, nil
}

// preparedFile is the path of the rewritten form of a module; empty without a cache.
func preparedFile(dir, digest string, limits prepare.Limits) string {
	if dir == "" {
		return ""
	}
	_, sum, _ := strings.Cut(digest, ":")
	return filepath.Join(dir, fmt.Sprintf("%s-%d.prepared", sum, limits.MemoryPages))
}

// saveLoadable atomically writes the saved form of a module, with the checksum of its
// machine code in the same directory.
func saveLoadable(file, machineCode string, saved []byte) error {
	if file == "" {
		return nil
	}
	sum, err := sumOf(filepath.Join(filepath.Dir(file), machineCode))
	if err != nil {
		return err
	}
	return atomicfile.Replace(file, 0o600, []byte(machineCode+"\n"+sum+"\n"), saved)
}

// errChanged says that files of the cache differ from what was written.
var errChanged = errors.New("the machine code has changed")

// readLoadable reads the saved form of a module, if its machine code is unchanged. The
// engine alone does not detect all damage by a broken disk.
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

// sumOf is the checksum of a file. It detects accidents, not attacks: only the owner can
// write to the directory.
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

// exchangeDir creates a temporary private directory for the result of a compiling process.
// It is on disk, or in memory if the disk is read-only.
func exchangeDir() (string, error) {
	dir, err := os.MkdirTemp("", "kopf-wasm-*")
	if err != nil {
		dir, err = os.MkdirTemp("/dev/shm", "kopf-wasm-*")
	}
	return dir, err
}
