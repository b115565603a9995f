package recordings

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Errors of files.
var (
	ErrFormat    = errors.New("this is no recording of kopf run --record")
	ErrNewer     = errors.New("the recording is of a newer version of kopf: replay it with that version")
	ErrTruncated = errors.New("the recording is truncated: the operator was killed, or its disk was full")
)

// File is a recording.
type File struct {
	Header Header
	Footer Footer
	lines  []line
}

// maxLine bounds one message, in bytes.
const maxLine = 64 << 20

// Read reads a recording. The secrets, by the names of Footer.Redacted, are put back.
//
// Errors: ErrFormat, ErrNewer; ErrTruncated together with the messages that are left.
func Read(from io.Reader, secrets map[string]string) (*File, error) {
	f, restored := &File{}, newRedaction(secrets)
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	if !lines.Scan() || json.Unmarshal([]byte(restored.restore(lines.Text())), &f.Header) != nil || f.Header.Recording == 0 {
		return nil, ErrFormat
	}
	if f.Header.Recording > Version {
		return nil, fmt.Errorf("%w: version %d of the format, and this program knows %d", ErrNewer, f.Header.Recording, Version)
	}
	for number := 2; lines.Scan(); number++ {
		raw := []byte(restored.restore(lines.Text()))
		if bytes.HasPrefix(raw, []byte(`{"end"`)) {
			if err := json.Unmarshal(raw, &f.Footer); err == nil && f.Footer.End {
				break
			}
		}
		var one line
		if err := json.Unmarshal(raw, &one); err != nil || one.Kind == "" {
			return f, fmt.Errorf("%w: line %d is incomplete", ErrTruncated, number)
		}
		f.lines = append(f.lines, one)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if !f.Footer.End || f.Footer.Messages != len(f.lines) {
		return f, fmt.Errorf("%w: it ends after %d messages", ErrTruncated, len(f.lines))
	}
	return f, nil
}
