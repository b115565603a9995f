// Package tags makes the commit and the tags of a release in the repository of this machine. It pushes nothing.
package tags

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kopf-wasm/kopf/scripts/release/gomodules"
	"github.com/kopf-wasm/kopf/scripts/release/tree"
	"github.com/kopf-wasm/kopf/scripts/release/version"
)

// Make makes a commit on top of the newest one, with the modules and packages as they are released, and a tag for each
// module. It returns the tags in the order in which they are to be pushed: each module after those that it requires. No
// branch is changed.
//
// Errors: a tag exists.
func Make(ctx context.Context, from *tree.Tree, v version.Version, work string) ([]string, error) {
	source := filepath.Join(work, "source")
	for _, folder := range []string{source, filepath.Join(work, "proxy")} {
		if err := os.RemoveAll(folder); err != nil {
			return nil, err
		}
	}
	if err := from.Stage(source, v); err != nil {
		return nil, err
	}
	if err := gomodules.Prepare(source, filepath.Join(work, "proxy"), v, from.Time); err != nil {
		return nil, err
	}
	commit, err := commitTree(ctx, from, source, filepath.Join(work, "index"), "kopf "+v.Tag())
	if err != nil {
		return nil, err
	}
	var tags []string
	for _, folder := range gomodules.Folders {
		tag := gomodules.Tag(folder, v)
		if _, err := tree.Git(ctx, from.Root, nil, "tag", "-a", "-m", gomodules.Path(folder)+" "+v.Tag(), tag, commit); err != nil {
			return nil, fmt.Errorf("%s: %w", tag, err)
		}
		tags = append(tags, tag)
	}
	return tags, nil
}

// commitTree makes a commit of a folder, with the time of the newest commit, so that it is the same each time.
func commitTree(ctx context.Context, from *tree.Tree, folder, index, message string) (string, error) {
	if err := os.RemoveAll(index); err != nil {
		return "", err
	}
	environment := []string{"GIT_INDEX_FILE=" + index, "GIT_AUTHOR_DATE=" + from.Time.Format("2006-01-02T15:04:05Z"), "GIT_COMMITTER_DATE=" + from.Time.Format("2006-01-02T15:04:05Z")}
	if _, err := tree.Git(ctx, from.Root, environment, "--work-tree="+folder, "add", "--all", "."); err != nil {
		return "", err
	}
	written, err := tree.Git(ctx, from.Root, environment, "write-tree")
	if err != nil {
		return "", err
	}
	commit, err := tree.Git(ctx, from.Root, environment, "commit-tree", "-p", from.Revision, "-m", message, strings.TrimSpace(written))
	return strings.TrimSpace(commit), err
}
