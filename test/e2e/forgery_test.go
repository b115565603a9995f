package e2e_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/legible"
)

// forger says, in all ways that a script has, what would be more than one line of a log if it were not escaped.
const forger = `
const forged = "innocent\n[2026-11-22 00:00:00,000] kopf.reactor         [INFO    ] FORGED\r\n" +
  '{"message":"FORGED","severity":"info"}\u2028FORGED\u202e\u001b[2J\u007f\u0085';
kopf.operator({ name: "forger", version: "1.0" });
kopf.on.create("kopfexamples", function look({ logger }) {
  logger.info(forged);
  console.error(forged);
  print(forged);
  throw new kopf.PermanentError(forged);
});
`

// TestForgedLogLines: whatever a guest says is part of its own records, in each format, and controls no terminal.
func TestForgedLogLines(t *testing.T) {
	t.Parallel()
	full := regexp.MustCompile(`^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] \S+ +\[[A-Z ]{8}\] `)
	for format, isRecord := range map[string]func(line string) bool{
		"plain": func(line string) bool { return !strings.HasPrefix(line, legible.Continuation) },
		"full":  full.MatchString,
		"json":  func(line string) bool { return json.Valid([]byte(line)) },
	} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			p := s.spawnModule(t, script(t, forger), "--engine", engine(t), "--log-format", format, "--guest-output", "log")
			p.says(t, "Starting the watch-stream for kopfexamples")
			s.create(t, "obj1", "{}")
			p.says(t, "failed permanently")
			p.says(t, "Creation is processed")
			records := 0
			for _, line := range p.stderr.All() {
				if legible.Line(line) != line {
					t.Errorf("control characters: %q", line)
				}
				switch {
				case strings.HasPrefix(line, legible.Continuation) && format != "json":
				case !isRecord(line):
					t.Errorf("no record: %q", line)
				case strings.HasPrefix(line, "[2026-11-22 00:00:00,000]"), strings.HasPrefix(line, `{"message":"FORGED"`), strings.HasPrefix(line, "FORGED"):
					t.Errorf("forged: %q", line)
				case strings.Contains(line, "innocent"):
					records++
				}
			}
			if records < 4 {
				t.Errorf("%d records of the guest, want 4 or more", records)
			}
			if lines := p.stdout.All(); len(lines) > 0 {
				t.Errorf("standard output: %q", lines)
			}
		})
	}
}

// TestStandardOutputOfGuests: by default it stays data, escaped line by line.
func TestStandardOutputOfGuests(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	p := s.spawnModule(t, script(t, forger), "--engine", engine(t))
	p.says(t, "Starting the watch-stream for kopfexamples")
	s.create(t, "obj1", "{}")
	p.until(t, "it prints", func() bool { return len(p.stdout.All()) == 3 })
	for _, line := range p.stdout.All() {
		if legible.Line(line) != line {
			t.Errorf("control characters: %q", line)
		}
	}
}
