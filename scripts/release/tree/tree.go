// Package tree reads the files of the repository, and writes them with the version of a release.
package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tree is a checkout of the repository.
type Tree struct {
	// Root is its folder.
	Root string

	// Files are the paths of all files that git does not ignore, relative to Root, with slashes, sorted.
	Files []string

	// Revision is the hash of the newest commit.
	Revision string

	// Time is that of the newest commit. All files of a release have it, so that equal commits give equal files.
	Time time.Time
}

// Open lists the files of a checkout.
//
// Errors: the folder is no checkout of git, or has no commit.
func Open(ctx context.Context, root string) (*Tree, error) {
	t := &Tree{Root: root}
	listed, err := t.git(ctx, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	for path := range strings.SplitSeq(strings.TrimRight(listed, "\x00"), "\x00") {
		if info, err := os.Lstat(filepath.Join(root, path)); err == nil && info.Mode().IsRegular() {
			t.Files = append(t.Files, path)
		}
	}
	slices.Sort(t.Files)
	t.Files = slices.Compact(t.Files)
	newest, err := t.git(ctx, "log", "-1", "--format=%H %ct")
	if err != nil {
		return nil, err
	}
	revision, at, _ := strings.Cut(strings.TrimSpace(newest), " ")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the newest commit of %s: %w", root, err)
	}
	t.Revision, t.Time = revision, time.Unix(seconds, 0).UTC()
	return t, nil
}

// ErrDirty is the error for files that are not as in the newest commit.
var ErrDirty = errors.New("the tree has changes that are not committed: commit or remove them")

// CheckClean returns ErrDirty unless all files are as in the newest commit.
func (t *Tree) CheckClean(ctx context.Context) error {
	changed, err := t.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if first, _, _ := strings.Cut(changed, "\n"); first != "" {
		return fmt.Errorf("%w: %s", ErrDirty, strings.TrimSpace(first))
	}
	return nil
}

// Read returns the content of a file.
func (t *Tree) Read(path string) ([]byte, error) { return os.ReadFile(filepath.Join(t.Root, path)) }

// copyTo copies all files to a folder.
func (t *Tree) copyTo(folder string) error {
	for _, path := range t.Files {
		text, err := t.Read(path)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if info, err := os.Stat(filepath.Join(t.Root, path)); err == nil && info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		to := filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, mode); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tree) git(ctx context.Context, args ...string) (string, error) {
	return Git(ctx, t.Root, nil, args...)
}

// Git runs git in a folder, with more variables of its environment, and returns its output.
func Git(ctx context.Context, folder string, environment []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr, cmd.Env = folder, &stderr, append(os.Environ(), environment...)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}
