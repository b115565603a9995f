package host

import (
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"
)

// guestMemory accesses the memory of a guest by addresses from the guest. All addresses may
// be invalid.
type guestMemory struct{ api.Memory }

// view returns a part of the memory without a copy. It is valid only until the guest runs
// again.
func (m guestMemory) view(ptr, size uint32) ([]byte, bool) { return m.Read(ptr, size) }

// bytes copies a part of the memory.
func (m guestMemory) bytes(ptr, size uint32) ([]byte, bool) {
	view, ok := m.Read(ptr, size)
	if !ok {
		return nil, false
	}
	return append(make([]byte, 0, len(view)), view...), true
}

// string copies a part of the memory.
func (m guestMemory) string(ptr, size uint32) (string, bool) {
	view, ok := m.Read(ptr, size)
	return string(view), ok
}

func (m guestMemory) putU32(ptr, v uint32) bool { return m.WriteUint32Le(ptr, v) }

func (m guestMemory) putU64(ptr uint32, v uint64) bool { return m.WriteUint64Le(ptr, v) }

// u32s reads a vector of little-endian numbers.
func (m guestMemory) u32s(ptr, count uint32) ([]uint32, bool) {
	if count > maxVector {
		return nil, false
	}
	view, ok := m.Read(ptr, count*4)
	if !ok {
		return nil, false
	}
	out := make([]uint32, count)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(view[i*4:])
	}
	return out, true
}

// maxVector bounds vectors in arguments of WASI functions.
const maxVector = 4096
