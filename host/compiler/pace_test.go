package compiler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	p := PaceIn(t.TempDir())
	estimated := func(what string, want time.Duration) {
		t.Helper()
		if got := p.Estimate(12_000_000); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	estimated("without an earlier compilation", 3*time.Second)
	p.Learn(minLesson-1, time.Hour)
	p.Learn(2_000_000, 0)
	estimated("after what says nothing", 3*time.Second)
	p.Learn(2_000_000, time.Second)
	estimated("after the first one", 6*time.Second)
	p.Learn(2_000_000, 2*time.Second)
	estimated("after a slower one", 8*time.Second)
	p.Learn(2_000_000, 1000*time.Hour) // the machine was asleep
	p.Learn(2_000_000, 1000*time.Hour)
	if got := p.Estimate(12_000_000); got > 4*time.Minute {
		t.Errorf("after a night: %v", got)
	}
}

func TestPaceIsBounded(t *testing.T) {
	p := PaceIn(t.TempDir())
	for text, want := range map[string]time.Duration{
		"1":                     12_000_000 / minPace * time.Second,
		"-5":                    12_000_000 / minPace * time.Second,
		"9999999999999999":      120 * time.Millisecond,
		"":                      3 * time.Second,
		"NaN":                   3 * time.Second,
		"2000000\n":             3 * time.Second,
		strings.Repeat("1", 17): 3 * time.Second,
	} {
		if err := os.WriteFile(p.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := p.Estimate(12_000_000); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// Neither a missing folder nor something in place of the file matters.
func TestPaceWithoutAFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, paceFile), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]Pace{"zero": {}, "no folder": PaceIn(filepath.Join(dir, "none")), "a folder in its place": PaceIn(dir)} {
		p.Learn(2_000_000, time.Second)
		if got := p.Estimate(12_000_000); got != 3*time.Second {
			t.Errorf("%s: %v", name, got)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left: %v, %v", entries, err)
	}
}
