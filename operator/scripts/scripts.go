// Package scripts makes modules of operators that are scripts: one module, the engine
// of the language, runs all of them, and gets the script as its configuration, which is
// embedded in it. So a script is sandboxed, bounded, cloned and signed like any other guest.
package scripts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kopf-wasm/kopf/host/configuration"
	"github.com/kopf-wasm/kopf/host/declaration"
)

// Keys of the configuration that engines get.
const (
	KeyText = "KOPF_SCRIPT"      // the text of the script
	KeyName = "KOPF_SCRIPT_NAME" // its name in stack traces
)

// engines are the names of the engines by the endings of scripts.
var engines = map[string]string{".js": "javascript", ".mjs": "javascript"}

// hints say what to do with what looks like a script or source code, but cannot be run.
var hints = map[string]string{
	".ts": "TypeScript is translated first: npx esbuild op.ts --outfile=op.js",
	".go": "it is source code, build it first: GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o operator.wasm .",
	".rs": "it is source code, build it first: cargo build --release --target wasm32-unknown-unknown",
	".c":  "it is source code, build it first: see docs/languages.md",
	".py": "operators in Python are run by the reference; here it takes another language: see docs/languages.md",
}

// ErrNoEngine says that an engine is nowhere to be found.
var ErrNoEngine = errors.New("there is no engine for it")

// Is tells whether a file is a script, by its name; also one of a language that has no engine.
func Is(name string) bool {
	ending := ending(name)
	return engines[ending] != "" || hints[ending] != ""
}

func ending(name string) string { return strings.ToLower(filepath.Ext(name)) }

// Engine finds the module that runs a script: the given one if it is not empty, or the
// file engines/LANGUAGE.wasm beside the program, or kopf/engines/LANGUAGE.wasm in the
// folder of the user's data ($XDG_DATA_HOME, ~/.local/share).
//
// Errors: ErrNoEngine with all places, or what to do with a language that has none.
func Engine(script, given string) (string, error) {
	language := engines[ending(script)]
	switch hint := hints[ending(script)]; {
	case language == "" && hint != "":
		return "", fmt.Errorf("%s: %s", filepath.Base(script), hint)
	case given != "":
		return given, nil
	}
	places := places(language + ".wasm")
	for _, path := range places {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w: name it with --engine, or put it to %s", filepath.Base(script), ErrNoEngine, strings.Join(places, " or "))
}

// places are where an engine may be, in this order.
func places(file string) []string {
	var found []string
	if program, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(program); err == nil {
			program = real
		}
		found = append(found, filepath.Join(filepath.Dir(program), "engines", file))
	}
	data := os.Getenv("XDG_DATA_HOME")
	if home, err := os.UserHomeDir(); data == "" && err == nil {
		data = filepath.Join(home, ".local", "share")
	}
	if data != "" {
		found = append(found, filepath.Join(data, "kopf", "engines", file))
	}
	return found
}

// Embed makes one module of an engine and a script.
//
// Errors: configuration.ErrMalformed, declaration.ErrMalformed if the engine is no module.
func Embed(engine []byte, name string, text []byte) ([]byte, error) {
	bare, err := declaration.Remove(engine) // what it registers without this script
	if err != nil {
		return nil, err
	}
	return configuration.Embed(bare, map[string]string{KeyText: string(text), KeyName: filepath.Base(name)})
}
