package prepare

import "encoding/binary"

func appendU32(buf []byte, v uint32) []byte { return binary.AppendUvarint(buf, uint64(v)) }

// appendSigned appends a signed LEB128 number.
func appendSigned(buf []byte, v int64) []byte {
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && b&0x40 == 0) || (v == -1 && b&0x40 != 0) {
			return append(buf, b)
		}
		buf = append(buf, b|0x80)
	}
}

func appendName(buf []byte, name string) []byte {
	return append(appendU32(buf, uint32(len(name))), name...)
}

func appendSized(buf, data []byte) []byte {
	return append(appendU32(buf, uint32(len(data))), data...)
}

func appendSection(buf []byte, id byte, data []byte) []byte {
	return appendSized(append(buf, id), data)
}
