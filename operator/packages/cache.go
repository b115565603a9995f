package packages

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/host/files"
	"github.com/kopf-wasm/kopf/internal/atomicfile"
	"github.com/kopf-wasm/kopf/internal/private"
)

// Bounds of the cache.
const (
	maxAge   = 30 * 24 * time.Hour // since the last use of an entry
	maxBytes = 1 << 30             // of all entries
	maxWrite = time.Hour           // since the last write to an unfinished entry: its process has ended
)

// cacheDir creates the directory of packed packages; empty without a cache.
func (p *Packer) cacheDir() (string, error) {
	dir := p.CacheDir
	switch dir {
	case host.CacheOff:
		return "", nil
	case "":
		base, err := os.UserCacheDir()
		if err != nil {
			return "", nil //nolint:nilerr // no home directory: no cache
		}
		dir = filepath.Join(base, "kopf", "packages")
	}
	if err := private.Folder(dir); err != nil {
		if p.CacheDir == "" && !errors.Is(err, private.ErrShared) {
			return "", nil //nolint:nilerr // a read-only file system: no cache
		}
		return "", err
	}
	return dir, nil
}

// key names an entry of the cache.
func key(kind, engine string, content []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %s\n", format, kind, engine)
	h.Write(content)
	return fmt.Sprintf("%s-%x", kind, h.Sum(nil))
}

// cached returns the files of an entry of the cache, or makes and stores them. A damaged
// entry is made again.
func cached(dir, key string, make func() (map[string][]byte, error)) (map[string][]byte, error) {
	path := filepath.Join(dir, key)
	if dir != "" {
		if found, err := readEntry(path); err == nil {
			now := time.Now()
			_ = os.Chtimes(path, now, now) // an entry that looks older than it is may be made again
			return found, nil
		}
	}
	made, err := make()
	if err != nil || dir == "" {
		return made, err
	}
	content, err := files.Pack(made)
	if err != nil {
		return nil, err
	}
	if writeEntry(path, content) == nil { // the packages are packed in any case
		_ = prune(dir, filepath.Base(path), maxBytes)
	}
	return made, nil
}

// readEntry reads an entry: the digest of the content, and the content.
func readEntry(path string) (map[string][]byte, error) {
	entry, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(entry) < sha256.Size || sha256.Sum256(entry[sha256.Size:]) != [sha256.Size]byte(entry[:sha256.Size]) {
		return nil, files.ErrMalformed
	}
	return files.Unpack(entry[sha256.Size:])
}

// writeEntry writes an entry atomically.
func writeEntry(path string, content []byte) error {
	sum := sha256.Sum256(content)
	return atomicfile.Replace(path, 0o600, sum[:], content)
}

// prune removes entries that were not used for long, unfinished ones, and, beyond an amount of
// bytes, those that were not used for longest. It keeps the newest entry. Another process may
// remove entries at the same time.
func prune(dir, newest string, limit int64) error {
	listed, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var kept []fs.FileInfo
	var size int64
	for _, entry := range listed {
		info, err := entry.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular():
			continue
		case err != nil:
			return err
		case entry.Name() == newest:
			size += info.Size()
		case time.Since(info.ModTime()) > lifetime(entry.Name()):
			if err := discard(dir, info); err != nil {
				return err
			}
		default:
			kept, size = append(kept, info), size+info.Size()
		}
	}
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range kept {
		if size <= limit {
			break
		}
		if err := discard(dir, info); err != nil {
			return err
		}
		size -= info.Size()
	}
	return nil
}

// lifetime is how long a file of the cache is kept after its last use.
func lifetime(name string) time.Duration {
	if strings.HasSuffix(name, atomicfile.Unfinished) {
		return maxWrite
	}
	return maxAge
}

func discard(dir string, info fs.FileInfo) error {
	err := os.Remove(filepath.Join(dir, info.Name()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
