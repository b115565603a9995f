package prepare

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// errSecond is the error of the second decoder.
var errSecond = errors.New("no code")

// second is another decoder of function bodies, for tests: written from the specification alone, without a table, and
// lenient. It lists instructions as text, so that the decoder of the package can be compared with it.
type second struct {
	buf []byte
	out []string
}

// listing is what a body consists of: its local variables, then its instructions.
func listing(body []byte) (out []string, err error) {
	s := &second{buf: body}
	defer func() {
		if recover() != nil { // beyond the end
			err = errSecond
		}
	}()
	for n := s.unsigned(); n > 0; n-- {
		s.out = append(s.out, fmt.Sprint("local ", s.unsigned(), s.next()))
	}
	for len(s.buf) > 0 {
		s.instruction()
	}
	return s.out, nil
}

func (s *second) next() byte {
	b := s.buf[0]
	s.buf = s.buf[1:]
	return b
}

func (s *second) unsigned() uint64 {
	v, n := binary.Uvarint(s.buf)
	s.buf = s.buf[n:]
	return v
}

func (s *second) signed() int64 {
	var v int64
	for shift := 0; ; shift += 7 {
		b := s.next()
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 && shift < 57 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
}

func (s *second) instruction() {
	op := s.next()
	in := []any{op}
	add := func(v ...any) { in = append(in, v...) }
	switch {
	case op == 0x02 || op == 0x03 || op == 0x04 || op == 0x41 || op == 0x42:
		add(s.signed())
	case op == 0x0c, op == 0x0d, op == 0x10, op >= 0x20 && op <= 0x26, op == 0xd2, op == 0x3f, op == 0x40:
		add(s.unsigned())
	case op == 0x11, op >= 0x28 && op <= 0x3e:
		add(s.unsigned(), s.unsigned())
	case op == 0x0e:
		for n := s.unsigned() + 1; n > 0; n-- {
			add(s.unsigned())
		}
	case op == 0x1c:
		for n := s.unsigned(); n > 0; n-- {
			add(s.next())
		}
	case op == 0xd0:
		add(s.next())
	case op == 0x43:
		add(slices.Clone(s.buf[:4]))
		s.buf = s.buf[4:]
	case op == 0x44:
		add(slices.Clone(s.buf[:8]))
		s.buf = s.buf[8:]
	case op == 0xfc:
		sub := s.unsigned()
		add(sub)
		for n := bulkImmediates(sub); n > 0; n-- {
			add(s.unsigned())
		}
	case op == 0xfd:
		sub := s.unsigned()
		add(sub)
		add(s.vector(sub)...)
	}
	s.out = append(s.out, fmt.Sprint(in...))
}

// bulkImmediates is how many numbers follow the opcode.
func bulkImmediates(sub uint64) int {
	switch sub {
	case 8, 10, 12, 14:
		return 2
	case 9, 11, 13, 15, 16, 17:
		return 1
	}
	return 0
}

// vector reads what follows a vector opcode.
func (s *second) vector(sub uint64) []any {
	switch {
	case sub <= 11 || sub == 92 || sub == 93:
		return []any{s.unsigned(), s.unsigned()}
	case sub == 12 || sub == 13:
		v := slices.Clone(s.buf[:16])
		s.buf = s.buf[16:]
		return []any{v}
	case sub >= 21 && sub <= 34:
		return []any{s.next()}
	case sub >= 84 && sub <= 91:
		return []any{s.unsigned(), s.unsigned(), s.next()}
	}
	return nil
}
