package docs

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/reactor/settings"
)

// paritySections are the headings of docs/parity.md by the first words of the
// lines in testdata/parity.txt, which is the public surface of Kopf.
var paritySections = map[string]string{
	"names": "Names", "handlers": "Handlers", "options": "Options of handlers", "selectors": "Selectors of resources",
	"settings": "Settings", "commands": "Command line", "environment": "Environment",
	"classes": "Options of classes", "arguments": "Arguments of functions",
}

// parityRows are the rows of the tables, as cells, by their headings and first cells.
func parityRows(t *testing.T) map[string]map[string][]string {
	t.Helper()
	found, heading := map[string]map[string][]string{}, ""
	for line := range strings.Lines(manual(t, "parity.md").text) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			heading = title
			found[heading] = map[string][]string{}
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if name := strings.TrimSpace(cells[0]); strings.HasPrefix(line, "| `") {
			name = strings.ReplaceAll(strings.Trim(name, "`"), " ", "_")
			if found[heading][name] != nil {
				t.Errorf("%s: there are two rows of %s", heading, name)
			}
			found[heading][name] = cells
		}
	}
	return found
}

// No name of Kopf is missing in docs/parity.md, and nothing else is there.
func TestParityIsComplete(t *testing.T) {
	t.Parallel()
	rows := parityRows(t)
	for line := range strings.Lines(read(t, "test/docs/testdata/parity.txt")) {
		section, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if section == "#" {
			continue
		}
		name, parts, _ := strings.Cut(rest, ":")
		heading := paritySections[section]
		cells := rows[heading][name]
		if cells == nil {
			t.Errorf("docs/parity.md, %q: there is no row of %s", heading, name)
			continue
		}
		for _, part := range strings.Fields(parts) {
			if !strings.Contains(strings.Join(cells, "|"), "`"+part+"`") {
				t.Errorf("docs/parity.md, %q: the row of %s lacks %s", heading, name, part)
			}
		}
		delete(rows[heading], name)
	}
	for heading, left := range rows {
		for name := range left {
			t.Errorf("docs/parity.md, %q: Kopf has no %s", heading, name)
		}
	}
}

// Each row is shown by something that exists, or says why not.
func TestParityPointsSomewhere(t *testing.T) {
	t.Parallel()
	known := parityTargets(t)
	for heading, rows := range parityRows(t) {
		for name, cells := range rows {
			row := strings.Join(cells, "|")
			last := cells[len(cells)-1]
			if !parityReference.MatchString(last) && !strings.Contains(row, "reason:") && !strings.Contains(row, "not yet") {
				t.Errorf("%s: nothing shows %s", heading, name)
			}
			for _, found := range parityReference.FindAllString(row, -1) {
				if !known[found] {
					t.Errorf("%s: the row of %s points to %q, which does not exist", heading, name, found)
				}
			}
		}
	}
	supported := settings.Names()
	for name, cells := range parityRows(t)["Settings"] {
		reasoned := strings.Contains(strings.Join(cells, "|"), "reason:")
		if slices.Contains(supported, name) == reasoned && name != "execution.executor" {
			t.Errorf("the setting %s exists: %v, but the row says otherwise", name, !reasoned)
		}
	}
}

// parityReference matches whatever a row points to: tests, cases, recorded functions,
// names of the SDKs and of the host, and flags.
var parityReference = regexp.MustCompile(
	`\bTest[A-Z]\w+|case \d{3}|vector [a-z0-9-]+|\bkopf\.[A-Z]\w*|\bkopf::\w+|` +
		"\\b(?:operator|reactor|settings|stores|webhooks|logs)\\.[A-Z]\\w*|`--[a-z-]+`")

// parityTargets are all things that a row may point to.
func parityTargets(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (?:\(\w+ [^)]*\) )?([A-Z]\w*)|^(?:type|var|const) ([A-Z]\w*)|^\t([A-Z]\w*) +(?:[A-Za-z*\[\]]+ +)?= |^\t([A-Z]\w*)$`)
	for folder, prefix := range map[string]string{
		"guest-sdks/go/kopf": "kopf.", "operator": "operator.", "operator/logs": "logs.", "reactor": "reactor.",
		"reactor/settings": "settings.", "stores": "stores.", "webhooks": "webhooks.",
	} {
		paths, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			for _, groups := range declared.FindAllStringSubmatch(readPath(t, path), -1) {
				known[prefix+strings.Join(groups[1:], "")] = true
			}
		}
	}
	maps.Copy(known, parityFiles(t))
	for _, flag := range regexp.MustCompile("`?(--[a-z-]+)").FindAllStringSubmatch(manual(t, "cli.md").text, -1) {
		known["`"+flag[1]+"`"] = true
	}
	return known
}

// parityFiles are tests, recorded cases and functions, and names of the Rust SDK.
func parityFiles(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	test := regexp.MustCompile(`(?m)^func (Test\w+)`)
	rust := regexp.MustCompile(`pub (?:async )?(?:fn|struct|enum|trait|const|type|mod) (\w+)|\bkind\("(\w+)"`)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && (name == ".cache" || name == "target" || name == ".git"):
			return filepath.SkipDir
		case strings.HasSuffix(name, "_test.go"):
			for _, groups := range test.FindAllStringSubmatch(readPath(t, path), -1) {
				known[groups[1]] = true
			}
		case strings.HasSuffix(name, ".rs") && strings.Contains(path, "guest-sdks/rust"):
			for _, groups := range rust.FindAllStringSubmatch(readPath(t, path), -1) {
				known["kopf::"+groups[1]+groups[2]] = true
			}
		case strings.Contains(path, "conformance/cases/") && entry.IsDir() && len(name) > 3:
			known["case "+name[:3]] = true
		case strings.Contains(path, "conformance/vectors/"):
			known["vector "+strings.TrimSuffix(name, ".json")] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return known
}

func readPath(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
