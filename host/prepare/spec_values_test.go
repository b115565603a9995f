package prepare

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// script is a file of the specification's tests, as wast2json writes them.
type script struct {
	Commands []specCommand
}

type specCommand struct {
	Type       string
	Line       int
	Name       string
	Filename   string
	As         string
	ModuleType string `json:"module_type"`
	Action     struct {
		Type, Module, Field string
		Args                []specValue
	}
}

type specValue struct {
	Type     string
	LaneType string `json:"lane_type"`
	Value    json.RawMessage
}

// specFolder is a folder of the specification's tests. They come with the engine's module.
func specFolder(t testing.TB, name string) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatalf("where the engine's module is: %v", err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "internal/integration_test/spectest", name, "testdata")
}

// specFiles are the files of a kind in it.
func specFiles(t testing.TB, folder, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(specFolder(t, folder), pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s in %s: %v", pattern, folder, err)
	}
	return files
}

func readScript(t testing.TB, file string) script {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s script
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return s
}

// words are the values as the engine takes them: two words for each vector.
func words(t testing.TB, values []specValue) []uint64 {
	t.Helper()
	var all []uint64
	for _, v := range values {
		if v.Type != "v128" {
			var text string
			if err := json.Unmarshal(v.Value, &text); err != nil {
				t.Fatalf("%s: %v", v.Value, err)
			}
			all = append(all, word(t, v.Type, text))
			continue
		}
		var lanes []string
		if err := json.Unmarshal(v.Value, &lanes); err != nil {
			t.Fatalf("%s: %v", v.Value, err)
		}
		all = append(all, vectorWords(t, v.LaneType, lanes)...)
	}
	return all
}

// word is a number or a reference.
func word(t testing.TB, typ, text string) uint64 {
	t.Helper()
	switch {
	case text == "null":
		return 0
	case text == "nan:canonical" || text == "nan:arithmetic":
		if strings.HasSuffix(typ, "32") {
			return 0x7fc00000
		}
		return 0x7ff8000000000000
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if typ == "externref" {
		n++ // zero is the null of the engine
	}
	return n
}

// vectorWords joins the lanes of a vector.
func vectorWords(t testing.TB, laneType string, lanes []string) []uint64 {
	t.Helper()
	both := make([]uint64, 2)
	bits := 128 / len(lanes)
	for i, text := range lanes {
		at := i * bits
		lane := word(t, laneType, text)
		if bits < 64 {
			lane &= 1<<bits - 1
		}
		both[at/64] |= lane << (at % 64)
	}
	return both
}
