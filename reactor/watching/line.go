package watching

import (
	"bufio"
	"bytes"
	"errors"
)

// maxLine bounds one event of a watch. Objects are smaller by far: etcd takes 1.5 MiB
// by default.
const maxLine = 64 << 20

var errLongLine = errors.New("an event in the stream is longer than 64 MiB")

// readLine reads up to the end of a line, which is a part of it. The line is the
// caller's to keep.
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
