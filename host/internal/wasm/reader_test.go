package wasm

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestNumbersHaveOneEncoding: the shortest one, except where linkers leave room.
func TestNumbersHaveOneEncoding(t *testing.T) {
	const long, large = "over-long encoding of a number", "number of more than"
	read := map[string]func(r *Reader) int64{
		"u32":    func(r *Reader) int64 { return int64(r.U32()) },
		"linked": func(r *Reader) int64 { return int64(r.Linked()) },
		"called": func(r *Reader) int64 { return int64(r.Called()) },
		"s32":    func(r *Reader) int64 { return int64(r.S32()) },
		"s33":    (*Reader).S33,
		"s64":    (*Reader).S64,
	}
	for _, test := range []struct {
		reads string // names of the ways to read
		bytes string
		value int64
		fault string
	}{
		{"u32 linked called s32 s33 s64", "\x00", 0, ""},
		{"u32 linked called", "\x7f", 127, ""},
		{"s32 s33 s64", "\x7f", -1, ""},
		{"s32 s33 s64", "\x40", -64, ""},
		{"u32 linked called", "\xff\xff\xff\xff\x0f", math.MaxUint32, ""},
		{"u32 linked called s32", "\xff\xff\xff\xff\x1f", 0, large},
		{"u32 linked called s32 s33", "\x80\x80\x80\x80\x80\x00", 0, large},
		{"u32 linked called", "\xff\xff\xff\xff\x7f", 0, large},
		{"s32 linked called", "\x80\x80\x80\x80\x00", 0, ""},
		{"u32 s33 s64", "\x80\x80\x80\x80\x00", 0, long},
		{"u32 linked called s32 s33 s64", "\x80\x00", 0, long},
		{"u32 linked called s32 s33 s64", "\x81\x80\x80\x00", 0, long},
		{"called s32 s33 s64", "\xc1\x00", 65, ""},
		{"u32 linked", "\xc1\x00", 0, long},
		{"s32 s33 s64", "\xff\x7f", 0, long},
		{"s32 s33 s64", "\x80\x7f", -128, ""},
		{"s32", "\xff\xff\xff\xff\x7f", -1, ""},
		{"s33 s64", "\xff\xff\xff\xff\x7f", 0, long},
		{"s32", "\x80\x80\x80\x80\x78", math.MinInt32, ""},
		{"s32", "\xff\xff\xff\xff\x07", math.MaxInt32, ""},
		{"s32", "\xff\xff\xff\xff\x0f", 0, large},
		{"s33", "\xff\xff\xff\xff\x0f", math.MaxUint32, ""},
		{"s33", "\x80\x80\x80\x80\x70", -1 << 32, ""},
		{"s33", "\xff\xff\xff\xff\x3f", 0, large},
		{"s64", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", math.MinInt64, ""},
		{"s64", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", math.MaxInt64, ""},
		{"s64", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 0, large},
		{"s64", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 0, long},
		{"u32 linked called s32 s33 s64", "\x80", 0, "unexpected end"},
		{"u32 linked called s32 s33 s64", "", 0, "unexpected end"},
	} {
		for _, name := range strings.Fields(test.reads) {
			t.Run(fmt.Sprintf("%s %x", name, test.bytes), func(t *testing.T) {
				r := &Reader{Buf: []byte(test.bytes)}
				got := read[name](r)
				if test.fault == "" {
					if r.Err != nil || got != test.value || r.More() {
						t.Errorf("%d, %v, want %d", got, r.Err, test.value)
					}
					return
				}
				if !errors.Is(r.Err, ErrMalformed) || !strings.Contains(r.Err.Error(), test.fault) || r.More() {
					t.Errorf("%d, %v, want %q", got, r.Err, test.fault)
				}
			})
		}
	}
}

// TestWrittenNumbersAreRead, in all ways to read them.
func TestWrittenNumbersAreRead(t *testing.T) {
	for shift := range 64 {
		for _, v := range []int64{1<<shift - 1, 1 << shift, -1 << shift, -1<<shift - 1} {
			if r := (&Reader{Buf: AppendSigned(nil, v)}); r.S64() != v || r.Err != nil || r.More() {
				t.Errorf("%d: %v", v, r.Err)
			}
			if r := (&Reader{Buf: AppendSigned(nil, int64(int32(v)))}); r.S32() != int32(v) || r.Err != nil || r.More() {
				t.Errorf("%d: %v", int32(v), r.Err)
			}
			if r := (&Reader{Buf: AppendU32(nil, uint32(v))}); r.U32() != uint32(v) || r.Err != nil || r.More() {
				t.Errorf("%d: %v", uint32(v), r.Err)
			}
		}
	}
}

func TestSectionsAreStrict(t *testing.T) {
	for _, test := range []struct{ name, bytes, want string }{
		{"size of five bytes", Magic + "\x01\x81\x80\x80\x80\x00\x00", ""},
		{"size of two bytes", Magic + "\x01\x81\x00\x00", "over-long encoding"},
		{"unknown", Magic + "\x0e\x00", "unknown section 14"},
		{"twice", Magic + "\x01\x00\x01\x00", "type section twice or out of order"},
		{"out of order", Magic + "\x02\x00\x01\x00", "type section twice or out of order"},
		{"the data count is before the code", Magic + "\x0c\x00\x0a\x00\x0b\x00", ""},
		{"data count behind the code", Magic + "\x0a\x00\x0c\x00", "data count section twice or out of order"},
		{"custom sections anywhere", Magic + "\x00\x01\x00\x01\x00\x00\x01\x00", ""},
		{"custom section without a name", Magic + "\x00\x00", "custom section: malformed module: unexpected end"},
		{"custom section with a broken name", Magic + "\x00\x02\x01\xff", "name is not UTF-8"},
		{"name beyond the section", Magic + "\x00\x01\x05\x01\x00", "unexpected end"},
		{"no end", Magic + "\x01\x05\x00", "unexpected end"},
		{"exceptions", Magic + "\x0d\x01\x00", "unsupported WebAssembly feature: exceptions"},
		{"a component", magicComponent, "a WebAssembly component"},
		{"nothing", "", "it is empty"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := Sections([]byte(test.bytes), func(s Section, r *Reader) error {
				r.Pos = s.End
				return nil
			})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}
