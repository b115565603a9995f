package test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// maxFile is the largest file that a commit may add, in bytes. Larger ones stay in the history for ever, and each clone
// has them.
const maxFile = 1 << 20

// knownLarge are files of earlier commits, by the hash of their content. The history is not rewritten for them.
var knownLarge = map[string]string{"cb8ad1beaaeb05841bcff418a90d97c5e57b05a8": "a build of the program kopf"}

// TestCommitsAddNoLargeFiles looks at all files of all commits.
func TestCommitsAddNoLargeFiles(t *testing.T) {
	listed, err := exec.Command("git", "-C", "..", "rev-list", "--objects", "HEAD").Output()
	if err != nil {
		t.Skipf("SKIPPED: this is no checkout of git: %v", err)
	}
	sizes := exec.Command("git", "-C", "..", "cat-file", "--batch-check=%(objecttype) %(objectsize) %(objectname) %(rest)")
	sizes.Stdin = bytes.NewReader(listed)
	out, err := sizes.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range largeFiles(string(out), knownLarge) {
		t.Error(problem)
	}
}

// TestFilesAreNoPrograms looks at the files of this checkout, also at those that are not committed yet.
func TestFilesAreNoPrograms(t *testing.T) {
	listed, err := exec.Command("git", "-C", "..", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("SKIPPED: this is no checkout of git: %v", err)
	}
	for path := range strings.SplitSeq(strings.TrimRight(string(listed), "\x00"), "\x00") {
		head, err := readHead("../" + path)
		if err != nil {
			continue // deleted, and not committed yet
		}
		if kind := programKind(head); kind != "" {
			t.Errorf("%s is a program (%s): build it from sources, and add its path to .gitignore", path, kind)
		}
	}
}

// readHead returns the first bytes of a file.
func readHead(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 4)
	n, err := io.ReadFull(f, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return head[:n], err
}

// largeFiles names the files that are too large, from lines with the type, the size, the hash and the path of objects.
func largeFiles(lines string, known map[string]string) (problems []string) {
	for line := range strings.Lines(lines) {
		var kind, hash string
		var size int
		if _, err := fmt.Sscan(line, &kind, &size, &hash); err != nil || kind != "blob" || size <= maxFile || known[hash] != "" {
			continue
		}
		path := strings.Join(strings.Fields(line)[3:], " ")
		problems = append(problems, fmt.Sprintf("%s has %d bytes; the limit is %d: remove it from the commit that adds it (git log --all --find-object=%s)", path, size, maxFile, hash))
	}
	return problems
}

// programKind returns the format of a program by its first bytes, or "".
func programKind(head []byte) string {
	for magic, kind := range map[string]string{"\x7fELF": "ELF", "MZ": "PE", "\xcf\xfa\xed\xfe": "Mach-O", "\xce\xfa\xed\xfe": "Mach-O", "\xca\xfe\xba\xbe": "Mach-O or Java"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return kind
		}
	}
	return ""
}

// The checks must be able to fail.
func TestLargeFilesAndProgramsAreFound(t *testing.T) {
	lines := "blob 1048577 a1 bin/two words\nblob 1048576 a2 small\ntree 2000000 a3 folder\nblob 41720609 a4 known\ncommit 300 a5\n"
	found := largeFiles(lines, map[string]string{"a4": "old"})
	if len(found) != 1 || !strings.Contains(found[0], "bin/two words has 1048577 bytes") {
		t.Errorf("found %q", found)
	}
	for head, want := range map[string]string{"\x7fELF": "ELF", "MZ\x90\x00": "PE", "#!/b": "", "": ""} {
		if got := programKind([]byte(head)); got != want {
			t.Errorf("%q is %q", head, got)
		}
	}
}
