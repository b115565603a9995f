package wasm

import "encoding/binary"

// AppendU32 appends an unsigned number in its shortest encoding.
func AppendU32(buf []byte, v uint32) []byte { return binary.AppendUvarint(buf, uint64(v)) }

// AppendSigned appends a signed number in its shortest encoding.
func AppendSigned(buf []byte, v int64) []byte {
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && b&0x40 == 0) || (v == -1 && b&0x40 != 0) {
			return append(buf, b)
		}
		buf = append(buf, b|0x80)
	}
}

// AppendName appends a name.
func AppendName(buf []byte, name string) []byte {
	return append(AppendU32(buf, uint32(len(name))), name...)
}

// AppendSized appends data with its size before it.
func AppendSized(buf, data []byte) []byte {
	return append(AppendU32(buf, uint32(len(data))), data...)
}

// AppendSection appends a section.
func AppendSection(buf []byte, id byte, content []byte) []byte {
	return AppendSized(append(buf, id), content)
}
