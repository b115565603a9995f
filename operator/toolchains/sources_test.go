package toolchains

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

func TestFilesOfToolsAreNoSources(t *testing.T) {
	dir := folder(t, "main.go", "go.mod", "go.sum", "greeter.wasm", "dev.log", ".hidden")
	for _, below := range []string{"node_modules/a", "target/debug", ".git/objects", "pkg"} {
		if err := os.MkdirAll(filepath.Join(dir, below), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, below, "file.go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	sources := p.Sources()
	for _, name := range []string{"main.go", "go.mod", "pkg/file.go"} {
		if _, ok := sources[filepath.Join(dir, name)]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	if len(sources) != 3 {
		t.Errorf("the sources are %v", sources)
	}
}

// TestOutputOfTheProcessIsNoSource: kopf dev >FILE does not build again at each line.
func TestOutputOfTheProcessIsNoSource(t *testing.T) {
	dir := folder(t, "main.go", "go.mod", "out.txt", "err.txt")
	p, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, stream := range map[string]**os.File{"out.txt": &os.Stdout, "err.txt": &os.Stderr} {
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		before := *stream
		*stream = file
		defer func() { *stream = before; _ = file.Close() }()
	}
	if sources := p.Sources(); len(sources) != 2 {
		t.Errorf("the sources are %v", sources)
	}
}

// TestChangesAreAwaitedUntilTheyEnd: an editor that writes for a while causes one build.
func TestChangesAreAwaitedUntilTheyEnd(t *testing.T) {
	dir := folder(t, "main.go", "go.mod")
	p, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "main.go")
	save := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		before := p.Sources()
		go func() {
			for text := "a"; len(text) <= 9; text += "a" {
				time.Sleep(watching * 2 / 5) // never when the files are looked at
				save(text)
			}
		}()
		after, err := p.Changed(t.Context(), before)
		if err != nil || after[path].size != 9 {
			t.Errorf("the size is %d, %v", after[path].size, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := p.Changed(ctx, after); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("nothing has changed: %v", err)
		}
	})
}
