// Package cache keeps prepared modules and their machine code in a folder of this machine, so that the
// next start does not compile them again.
package cache

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/internal/atomicfile"
	"github.com/kopf-wasm/kopf/internal/private"
)

// Off in place of a folder means that nothing is kept.
const Off = "off"

// Folder finds and creates the directory of compiled code; by default, it is in the user's cache
// directory. It returns an empty path if the cache is off, or if no default directory can be created,
// as in a read-only container.
func Folder(dir string) (string, error) {
	if dir == Off {
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

// IsWritable reports whether files can be made in a directory: not if its file system is read-only.
func IsWritable(dir string) bool {
	made, err := os.MkdirTemp(dir, "compiling-*")
	return err == nil && os.Remove(made) == nil
}

// File is the path of the rewritten form of a module, for a limit of its memory in pages; empty without a cache.
func File(dir, digest string, pages uint32) string {
	if dir == "" {
		return ""
	}
	_, sum, _ := strings.Cut(digest, ":")
	return filepath.Join(dir, fmt.Sprintf("%s-%d", sum, pages)+preparedSuffix)
}

const preparedSuffix = ".prepared"

// Save atomically writes the saved form of a module, with the checksum of its
// machine code in the same directory.
func Save(file, machineCode string, saved []byte) error {
	sum, err := sumOf(filepath.Join(filepath.Dir(file), machineCode))
	if err != nil {
		return err
	}
	return atomicfile.Replace(file, 0o600, []byte(machineCode+"\n"+sum+"\n"), saved)
}

// errChanged says that files of the cache differ from what was written.
var errChanged = errors.New("the machine code has changed")

// Read reads the saved form of a module, if its machine code is unchanged, and returns the path of that. The
// engine alone does not detect all damage by a broken disk.
func Read(dir, file string) (saved []byte, code string, err error) {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil, "", errChanged
	}
	if saved, err = os.ReadFile(file); err != nil {
		return nil, "", err
	}
	name, saved, _ := bytes.Cut(saved, []byte("\n"))
	sum, saved, _ := bytes.Cut(saved, []byte("\n"))
	code = filepath.Join(dir, string(name))
	switch now, err := sumOf(code); {
	case err != nil:
		return nil, "", err
	case now != string(sum):
		return nil, "", errChanged
	}
	now := time.Now()
	for _, used := range []string{file, code} {
		_ = os.Chtimes(used, now, now) // a file that looks older than it is may be made again
	}
	return saved, code, nil
}

// SizeOf is the size of a file, in bytes; 0 if it is not there any more.
func SizeOf(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

// maxCache bounds the files of the cache, in bytes. Authors of hosted operators choose modules, and
// can change them as often as they like: without a bound, they fill the disk of the host.
const maxCache = 4 << 30

// Limit is how many bytes the files of the cache in a directory may have.
func Limit(dir string) int64 { return boundOf(volumeOf(dir)) }

// boundOf is the bound of a cache on a volume of a size; 0: the size is unknown. A full volume would let no further module be
// compiled, so the files have half of a small one.
func boundOf(volume int64) int64 {
	if volume <= 0 {
		return maxCache
	}
	return min(maxCache, volume/2)
}

// MaxFiles bounds the number of these files: each compilation looks at all of them. A module takes two.
const MaxFiles = 20_000

// Prune removes the files of the cache that were not used for longest, until the others are few enough, and have at
// most a number of bytes. Their modules are compiled again. Another process may remove files at
// the same time. A program may have chosen a directory with files of its own: these stay, and do not count.
func Prune(dir string, limit int64, files int) error {
	type file struct {
		path string
		info fs.FileInfo
	}
	var all []file
	var size int64
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil && !entry.IsDir() {
			info, err = entry.Info()
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was removed meanwhile
			return nil
		case err != nil:
			return err
		case entry.IsDir() && path != dir && !isOfCache(dir, path):
			return fs.SkipDir
		case info != nil && isOfCache(dir, path):
			all, size = append(all, file{path, info}), size+info.Size()
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b file) int { return a.info.ModTime().Compare(b.info.ModTime()) })
	for i, f := range all {
		if size <= limit && len(all)-i <= files {
			break
		}
		if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		size -= f.info.Size()
	}
	return nil
}

// isOfCache reports whether a path in the cache is one of a module, or what is left of its compilation.
func isOfCache(dir, path string) bool {
	below, err := filepath.Rel(dir, path)
	first, _, nested := strings.Cut(below, string(filepath.Separator))
	return err == nil && (!nested && strings.HasSuffix(first, preparedSuffix) || slices.ContainsFunc([]string{"wazero-", "compiling-", "checking-"}, func(kind string) bool { return strings.HasPrefix(first, kind) }))
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

// Exchange creates a temporary private directory for the result of a compiling process.
// It is on disk, or in memory if the disk is read-only.
func Exchange() (string, error) {
	dir, err := os.MkdirTemp("", "kopf-wasm-*")
	if err != nil {
		dir, err = os.MkdirTemp("/dev/shm", "kopf-wasm-*")
	}
	return dir, err
}
