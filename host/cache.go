package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kopf-wasm/kopf/host/prepare"
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
	if err := makePrivate(dir); err != nil {
		if !chosen && !errors.Is(err, errShared) {
			return "", nil //nolint:nilerr // a folder that cannot be made: no cache
		}
		return "", err
	}
	return dir, nil
}

// errShared refuses a folder that others could put native code into.
var errShared = errors.New("others can write to the folder")

// makePrivate makes the folder, or checks that it is its owner's alone.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no folder", dir)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 || !ownedByUs(info) {
		return fmt.Errorf("%w: %s (%v): it holds native code, choose another one or chmod 700 it", errShared, dir, mode)
	}
	return nil
}

// preparedFile is where the rewritten form of a module is kept; empty without a cache.
func preparedFile(dir, digest string, limits prepare.Limits) string {
	if dir == "" {
		return ""
	}
	_, sum, _ := strings.Cut(digest, ":")
	return filepath.Join(dir, fmt.Sprintf("%s-%d.prepared", sum, limits.MemoryPages))
}

// savePrepared writes the file at once: others see all of it or nothing.
func savePrepared(file, digest string, p *prepare.Prepared) error {
	if file == "" {
		return nil
	}
	temp, err := os.CreateTemp(filepath.Dir(file), "*.temp")
	if err != nil {
		return err
	}
	_, err = temp.Write(p.Save(digest))
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
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
