// Package scripts turns scripts into modules. One module, the engine of the language, runs
// all scripts of the language. The script is embedded in a copy of the engine as its
// configuration. A script is therefore sandboxed, limited, cloned and signed like any other
// guest.
package scripts

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/kopf-wasm/kopf/host/configuration"
	"github.com/kopf-wasm/kopf/host/declaration"
	"github.com/kopf-wasm/kopf/host/files"
)

// The keys of the configuration that an engine receives.
const (
	KeyText = "KOPF_SCRIPT"      // the text of the script
	KeyName = "KOPF_SCRIPT_NAME" // its name in stack traces
)

// engines maps the file extension of a script to the name of its engine.
var engines = map[string]string{".js": "javascript", ".mjs": "javascript", ".py": "python"}

// hints say what to do with source code that no engine can run.
var hints = map[string]string{
	".ts": "TypeScript is translated first: npx esbuild op.ts --outfile=op.js",
	".go": "it is source code: build its folder first by kopf build",
	".rs": "it is source code: build its crate first by kopf build",
	".c":  "it is source code: build it first by kopf build",
}

// ErrNoEngine says that no engine for the script was found.
var ErrNoEngine = errors.New("there is no engine for it")

// ErrEncoding says that the text of a script is not UTF-8, in which both languages are written.
var ErrEncoding = errors.New("the line is not UTF-8: save the script as UTF-8")

// Is reports whether a file is a script, by its name. Scripts of languages without an engine
// count.
func Is(name string) bool {
	ending := ending(name)
	return engines[ending] != "" || hints[ending] != ""
}

// HasPackages reports whether the engine of a script reads packages, and modules of the author.
func HasPackages(name string) bool { return engines[ending(name)] == "python" }

func ending(name string) string { return strings.ToLower(filepath.Ext(name)) }

// Engine returns the path of the module that runs a script. A given path that is not empty
// wins. Otherwise Engine looks for engines/LANGUAGE.wasm in the program's directory, and for
// kopf/engines/LANGUAGE.wasm in the user's data directory ($XDG_DATA_HOME, ~/.local/share).
//
// Errors: ErrNoEngine with all places, or advice for a language without an engine.
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
	return "", fmt.Errorf("%s: %w: build it by `make engines` in the sources of kopf, and copy it to %s; or name a file or an artifact by --engine", filepath.Base(script), ErrNoEngine, strings.Join(places, " or "))
}

// places returns the possible paths of an engine, in order of preference.
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

// Embed returns one module made of an engine, a script, and the files that the engine reads.
//
// Errors: ErrEncoding; configuration.ErrMalformed, files.ErrMalformed; declaration.ErrMalformed if the
// engine is not a module.
func Embed(engine []byte, name string, text []byte, packed map[string][]byte) ([]byte, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // editors on Windows write it; it is a part of files, not of scripts
	for i, line := range bytes.Split(text, []byte("\n")) {
		if !utf8.Valid(line) {
			return nil, fmt.Errorf("%s:%d: %w", filepath.Base(name), i+1, ErrEncoding)
		}
	}
	bare, err := declaration.Remove(engine) // the engine's declaration is that of another script, or of none
	if err != nil {
		return nil, err
	}
	if bare, err = files.Embed(bare, packed); err != nil {
		return nil, err
	}
	return configuration.Embed(bare, map[string]string{KeyText: string(text), KeyName: filepath.Base(name)})
}
