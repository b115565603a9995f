package packages

import (
	"bytes"
	"context"
	_ "embed" // pip.py
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
)

// requirements is a list of packages for pip.
type requirements struct {
	path string // of the file, for paths in it that are relative; empty: written by list
	text []byte
}

// readList reads the requirements in a file of requirements or in a pyproject.toml.
func (p *Packer) readList(ctx context.Context, py *python) (*requirements, error) {
	text, err := boundedfile.Read(p.From, boundedfile.MaxDocument)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(p.From) != ".toml" {
		return &requirements{path: p.From, text: text}, nil
	}
	list, err := py.dependencies(ctx, text)
	if err != nil {
		return nil, err
	}
	return &requirements{text: []byte(strings.Join(withoutKopf(list), "\n") + "\n")}, nil
}

// kopfItself matches a requirement of the reference, which the engine replaces.
var kopfItself = regexp.MustCompile(`(?i)^\s*kopf\s*(\[[^\]]*\])?\s*([<>=!~;@ ].*)?$`)

// withoutKopf leaves out requirements of the reference, with the lines that continue them, such as hashes.
func withoutKopf(lines []string) []string {
	var rest []string
	skips := false
	for _, line := range lines {
		if skips = skips || kopfItself.MatchString(line); !skips {
			rest = append(rest, line)
		}
		skips = skips && strings.HasSuffix(strings.TrimSpace(line), `\`)
	}
	return rest
}

// fixed reports whether the text alone says what pip finds, so that the result can be cached.
// Options such as --find-links and -r, paths, and variables refer to what may change.
func (r *requirements) fixed() bool {
	for line := range strings.Lines(string(r.text)) {
		line, _, _ = strings.Cut(" "+strings.TrimSpace(line), " #")
		line = strings.TrimSpace(line)
		option, _, _ := strings.Cut(strings.ReplaceAll(line, "=", " "), " ")
		switch {
		case strings.Contains(line, "file:"):
			return false
		case strings.HasPrefix(line, "-"):
			if !slices.Contains([]string{"--hash", "--index-url", "-i", "--extra-index-url", "--require-hashes"}, option) {
				return false
			}
		case strings.ContainsAny(line, `/$`) && !strings.Contains(line, "://"), strings.HasSuffix(line, ".whl") && !strings.Contains(line, "://"):
			return false
		}
	}
	return true
}

// Platforms for which pip looks for wheels. Pure wheels fit each of them. If some packages
// have no pure wheel, those of Linux show which ones are native, and some of these work
// without their native code.
var (
	pure  = []string{"--platform", "any", "--implementation", "py", "--abi", "none"}
	linux = []string{
		"--implementation", "cp", "--abi", "cp311", "--abi", "abi3", "--abi", "none",
		"--platform", "manylinux_2_28_x86_64", "--platform", "manylinux_2_17_x86_64", "--platform", "manylinux2014_x86_64", "--platform", "any",
	}
)

// download lets pip find the wheels of all requirements, and put them into a folder.
func (r *requirements) download(ctx context.Context, to string) error {
	pip, err := findPip(ctx)
	if err != nil {
		return err
	}
	file, err := r.file(to)
	if err != nil {
		return err
	}
	if _, err := runPip(ctx, pip, append([]string{"-r", file, "--dest", to}, pure...)); err == nil || ctx.Err() != nil {
		return errors.Join(ctx.Err(), drop(to, file))
	}
	out, err := runPip(ctx, pip, append([]string{"-r", file, "--dest", to}, linux...))
	if err != nil {
		return fmt.Errorf("pip download: %s", shown(out))
	}
	return drop(to, file)
}

// file writes the requirements without Kopf itself. If they are a file with relative paths,
// the new file is next to it.
func (r *requirements) file(folder string) (string, error) {
	text := strings.Join(withoutKopf(strings.Split(string(r.text), "\n")), "\n")
	if r.path != "" && text == string(r.text) {
		return r.path, nil
	}
	if r.path != "" && !r.fixed() {
		return "", errors.New("remove kopf from it: the engine has the package kopf")
	}
	file := filepath.Join(folder, "requirements.txt")
	return file, os.WriteFile(file, []byte(text), 0o600)
}

// drop removes the requirements from the folder of wheels, and refuses a folder that is empty then.
func drop(folder, file string) error {
	if filepath.Dir(file) == folder {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(folder)
	if err == nil && len(entries) == 0 {
		err = errors.New("there are no packages in it")
	}
	return err
}

// guarded runs pip without code of the current folder, and without code of packages.
//
//go:embed pip.py
var guarded string

// findPip returns the command of pip.
func findPip(ctx context.Context) ([]string, error) {
	for _, python := range []string{"python3", "python"} {
		if err := exec.CommandContext(ctx, python, "-c", guarded, "--version").Run(); err == nil {
			return []string{python, "-c", guarded}, nil
		}
	}
	return nil, errors.New("this machine has no pip, which finds the packages: install it (apt-get install python3-pip), or name a folder of wheels: --packages DIR")
}

// runPip runs pip download, and returns its output. pip reads its usual configuration, so
// it asks the registry that the user has chosen.
func runPip(ctx context.Context, pip, args []string) ([]byte, error) {
	all := slices.Concat(pip[1:], []string{"download", "--disable-pip-version-check", "--no-input", "--quiet", "--only-binary=:all:", "--python-version", "3.11"}, args)
	return exec.CommandContext(ctx, pip[0], all...).CombinedOutput()
}

// shown returns the last lines of the output of pip that are errors, or all of it.
func shown(out []byte) string {
	var found [][]byte
	for line := range bytes.Lines(out) {
		if bytes.HasPrefix(line, []byte("ERROR: ")) && !bytes.HasPrefix(line, []byte("ERROR: Exception:")) { // frames of pip follow
			found = append(found, bytes.TrimSpace(bytes.TrimPrefix(line, []byte("ERROR: "))))
		}
	}
	if len(found) == 0 {
		found = [][]byte{bytes.TrimSpace(out)}
	}
	text := string(bytes.Join(found, []byte("; ")))
	return text[max(0, len(text)-maxShown):]
}

// maxShown bounds the quoted output of pip, in bytes.
const maxShown = 2000
