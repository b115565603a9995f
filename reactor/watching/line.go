package watching

import (
	"bufio"
	"bytes"
	"errors"
)

// maxLine limits one event of a watch, in bytes. Objects are much smaller: etcd's default
// limit is 1.5 MiB.
const maxLine = 64 << 20

var errLongLine = errors.New("an event in the stream is longer than 64 MiB")

// readLine reads one line, including its end. The caller may keep the line.
//
// Errors: errLongLine; those of the reader, if it ends before the line does.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case len(line)+len(part) > maxLine:
			return nil, errLongLine
		case err == nil && line == nil:
			return bytes.Clone(part), nil
		case err == nil:
			return append(line, part...), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		line = append(line, part...)
	}
}
