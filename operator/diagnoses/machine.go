package diagnoses

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/kopf-wasm/kopf/internal/private"
	"github.com/kopf-wasm/kopf/operator/clusters"
	"github.com/kopf-wasm/kopf/operator/scripts"
	"github.com/kopf-wasm/kopf/operator/toolchains"
)

// names are those of languages in texts for people.
var names = map[toolchains.Language]string{
	toolchains.Go: "Go", toolchains.Rust: "Rust", toolchains.AssemblyScript: "AssemblyScript", toolchains.C: "C",
	toolchains.JavaScript: "JavaScript", toolchains.Python: "Python",
}

// Tools looks for the tool chains of all languages that are compiled, and for what is useful
// besides them. A missing one is a problem for the language that the author uses, and else a
// warning. An empty language stands for none.
func Tools(ctx context.Context, used toolchains.Language) []Finding {
	var found []Finding
	for _, language := range toolchains.Languages() {
		if language == toolchains.JavaScript || language == toolchains.Python {
			continue
		}
		tool, err := toolchains.Look(ctx, language)
		if err != nil {
			found = append(found, failed(levelOf(language == used), "tools", names[language], err))
			continue
		}
		found = append(found, fine("tools", names[language], "%s (%s)", tool.Version, tool.Path))
	}
	if path, err := exec.LookPath("kubectl"); err != nil {
		found = append(found, failed(Warning, "tools", "kubectl", fmt.Errorf("kubectl is missing: see https://kubernetes.io/docs/tasks/tools/")))
	} else {
		found = append(found, fine("tools", "kubectl", "%s", path))
	}
	if path, err := clusters.Find(); err != nil {
		found = append(found, failed(Warning, "tools", "devcluster", fmt.Errorf("kopf dev --cluster does not work: %w", err)))
	} else {
		found = append(found, fine("tools", "devcluster", "%s", path))
	}
	return found
}

func levelOf(broken bool) Level {
	if broken {
		return Problem
	}
	return Warning
}

// Engines looks for what runs scripts. A missing one is a problem for the language that the author
// uses.
func Engines(used toolchains.Language) []Finding {
	var found []Finding
	for ending, language := range map[string]toolchains.Language{".js": toolchains.JavaScript, ".py": toolchains.Python} {
		path, err := scripts.Engine("operator"+ending, "")
		if err != nil {
			found = append(found, failed(levelOf(language == used), "engines", names[language], err))
			continue
		}
		found = append(found, fine("engines", names[language], "%s", path))
	}
	if len(found) > 1 && found[0].Name > found[1].Name { // of a map
		found[0], found[1] = found[1], found[0]
	}
	return found
}

// Caches looks at the folders of compiled modules, of pulled ones, and of packed packages. A folder that cannot be
// written makes each start slow, but everything works.
func Caches() []Finding {
	base, err := os.UserCacheDir()
	if err != nil {
		return []Finding{failed(Warning, "caches", "cache", fmt.Errorf("modules are compiled at each start: %w: set XDG_CACHE_HOME", err))}
	}
	return []Finding{
		cache("compiled modules", filepath.Join(base, "kopf", "wasm")), cache("pulled modules", filepath.Join(base, "kopf", "modules")),
		cache("packed packages", filepath.Join(base, "kopf", "packages")),
	}
}

func cache(name, folder string) Finding {
	if err := writable(folder); err != nil {
		return failed(Warning, "caches", name, fmt.Errorf("%s: %w: nothing is kept; set XDG_CACHE_HOME to a folder of yours", folder, err))
	}
	files, size := sizeOf(folder)
	return fine("caches", name, "%s: %d files, %.1f MB", folder, files, float64(size)/1e6)
}

// writable makes the folder, as a run would, and a file in it.
func writable(folder string) error {
	if err := private.Folder(folder); err != nil {
		return err
	}
	file, err := os.CreateTemp(folder, ".doctor-*")
	if err != nil {
		return err
	}
	_ = file.Close() // nothing was written
	return os.Remove(file.Name())
}

func sizeOf(folder string) (files int, size int64) {
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error { // files may vanish meanwhile
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // what cannot be seen is not counted
		}
		if info, err := entry.Info(); err == nil {
			files, size = files+1, size+info.Size()
		}
		return nil
	})
	return files, size
}
