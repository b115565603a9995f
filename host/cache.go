package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
)

// openCache opens the folder of compiled code. Without a folder that can be
// used by default, as in a container that cannot write, there is no cache.
func openCache(dir string) (wazero.CompilationCache, error) {
	if dir == CacheOff {
		return nil, nil
	}
	chosen := dir != ""
	if !chosen {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil, nil //nolint:nilerr // no home folder: no cache
		}
		dir = filepath.Join(base, "kopf", "wasm")
	}
	if err := makePrivate(dir); err != nil {
		if !chosen && !errors.Is(err, errShared) {
			return nil, nil //nolint:nilerr // a folder that cannot be made: no cache
		}
		return nil, err
	}
	return wazero.NewCompilationCacheWithDir(dir)
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
		return fmt.Errorf("%w: %s (%v): it holds native code, choose another one or chmod 700 it", errShared, dir, fs.FileMode(mode))
	}
	return nil
}
