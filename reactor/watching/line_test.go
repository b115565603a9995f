package watching

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
)

// endless is a reader without line ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	r := bufio.NewReaderSize(strings.NewReader("a\n"+long+"\n\nb\ncut"), 64)
	for _, want := range []string{"a\n", long + "\n", "\n", "b\n"} {
		if line, err := readLine(r); err != nil || string(line) != want {
			t.Errorf("%d bytes, %v; want %d", len(line), err, len(want))
		}
	}
	if line, err := readLine(r); !errors.Is(err, io.EOF) {
		t.Errorf("a line that is cut: %q, %v", line, err)
	}
	if _, err := readLine(bufio.NewReaderSize(endless{}, 1<<20)); !errors.Is(err, errLongLine) {
		t.Errorf("a line without an end: %v", err)
	}
}
