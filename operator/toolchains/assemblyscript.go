package toolchains

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// buildAssemblyScript runs the script "build" of package.json, whose compiler gets the path of the
// module as its last argument.
func (p *Project) buildAssemblyScript(ctx context.Context, output string, messages io.Writer) error {
	npm, err := findNPM(ctx)
	if err != nil {
		return err
	}
	if !isProgram(filepath.Join(p.Folder, "node_modules", ".bin", "asc")) {
		install := "install"
		if p.has("package-lock.json") {
			install = "ci"
		}
		announce(messages, "the packages of package.json are missing: npm %s", install)
		if err := (command{folder: p.Folder, name: npm.Path, arguments: []string{install, "--silent", "--no-audit", "--no-fund"}}).run(ctx, messages); err != nil {
			return err
		}
	}
	if !p.hasBuild() {
		return fmt.Errorf("%s: it has no script \"build\" that runs asc, like: asc main.ts --optimize --runtime minimal --use abort=kopf/abort", filepath.Join(p.Folder, "package.json"))
	}
	return command{folder: p.Folder, name: npm.Path, arguments: []string{"run", "--silent", "build", "--", "--outFile", output}}.run(ctx, messages)
}

func (p *Project) hasBuild() bool {
	var described struct{ Scripts map[string]string }
	text, err := os.ReadFile(filepath.Join(p.Folder, "package.json"))
	return err == nil && json.Unmarshal(text, &described) == nil && described.Scripts["build"] != ""
}

func findNPM(ctx context.Context) (Tool, error) {
	path, ok := lookup("npm")
	if _, hasNode := lookup("node"); !ok || !hasNode {
		return Tool{}, &MissingError{What: "npm", Get: []string{"https://nodejs.org/en/download", "sudo apt-get install -y npm (Debian)"}}
	}
	return Tool{Path: path, Version: "npm " + command{name: path, arguments: []string{"--version"}}.answer(ctx)}, nil
}
