package toolchains

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// watching is the interval between two looks at the files. Polling also works in containers and on
// network file systems, which deliver no notifications.
const watching = 100 * time.Millisecond

// maxSources bounds the files that are looked at.
const maxSources = 10_000

// Sources is the state of the files that an author writes: a changed state means a changed
// operator.
type Sources map[string]mark

// mark is the state of one file.
type mark struct {
	size int64
	time time.Time
}

// Folders and files that tools write, and not authors.
var (
	toolFolders = []string{"node_modules", "target", "__pycache__"}
	toolFiles   = []string{"go.sum", "Cargo.lock", "package-lock.json"}
	toolEndings = []string{".wasm", ".log"}
)

// Sources returns the present state of the folder and of those below it, without hidden files,
// files that tools write, and logs: an operator that logs to a file of its folder would be built
// again at each line. Of very large folders, it is the state of a part.
func (p *Project) Sources() Sources {
	all, outputs := Sources{}, outputs()
	_ = filepath.WalkDir(p.Folder, func(path string, entry fs.DirEntry, err error) error { // a file may vanish meanwhile
		name := filepath.Base(path)
		switch {
		case err != nil || path == p.Folder:
			return nil
		case entry.IsDir():
			if strings.HasPrefix(name, ".") || slices.Contains(toolFolders, name) {
				return filepath.SkipDir
			}
			return nil
		case len(all) >= maxSources:
			return filepath.SkipAll
		case strings.HasPrefix(name, ".") || slices.Contains(toolEndings, filepath.Ext(name)) || slices.Contains(toolFiles, name):
			return nil
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || slices.ContainsFunc(outputs, func(output fs.FileInfo) bool { return os.SameFile(output, info) }) {
			return nil // it has vanished, or is no source
		}
		all[path] = mark{info.Size(), info.ModTime()}
		return nil
	})
	return all
}

// outputs returns the files that this process writes its output to.
func outputs() []fs.FileInfo {
	var files []fs.FileInfo
	for _, stream := range []*os.File{os.Stdout, os.Stderr} {
		if info, err := stream.Stat(); err == nil {
			files = append(files, info)
		}
	}
	return files
}

// Changed waits until the sources differ from an earlier state and do not change any more, and
// returns the new state.
//
// Errors: that of the context.
func (p *Project) Changed(ctx context.Context, before Sources) (Sources, error) {
	ticker := time.NewTicker(watching)
	defer ticker.Stop()
	seen := before
	for {
		now := p.Sources()
		if !maps.Equal(now, before) && maps.Equal(now, seen) {
			return now, nil
		}
		seen = now
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
