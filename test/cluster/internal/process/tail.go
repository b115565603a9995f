package process

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// How much of a log goes into an error: enough for the reason, which is in
// the last lines, and for a stack of a few frames.
const (
	tailLines = 25
	tailBytes = 8 << 10
)

// LastLines says where a log is and quotes its end, for an error message.
func LastLines(path string) string {
	text, err := readEnd(path)
	if err != nil {
		return fmt.Sprintf("its log cannot be read: %v", err)
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	if len(lines) == 1 && lines[0] == "" {
		return fmt.Sprintf("its log %s is empty", path)
	}
	return fmt.Sprintf("the last lines of its log %s:\n  %s", path, strings.Join(lines, "\n  "))
}

func readEnd(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	start := max(0, info.Size()-tailBytes)
	text, err := io.ReadAll(io.NewSectionReader(file, start, tailBytes))
	return string(text), err
}
