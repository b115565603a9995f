package wasi

import (
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"

	"github.com/kopf-wasm/kopf/host/imports"
)

// program is the only argument. Libraries such as klog and pflag of Go look for the name of the program when they
// are loaded, and panic without one.
const program = "operator\x00"

// argumentSizes is args_sizes_get(count, size).
func argumentSizes(p Process, stack []uint64) {
	stack[0] = fault(p.Memory().WriteUint32Le(imports.U32(stack, 0), 1) && p.Memory().WriteUint32Le(imports.U32(stack, 1), uint32(len(program))))
}

// arguments is args_get(pointers, text).
func arguments(p Process, stack []uint64) {
	text := imports.U32(stack, 1)
	stack[0] = fault(p.Memory().WriteUint32Le(imports.U32(stack, 0), text) && p.Memory().WriteString(text, program))
}

// noStrings is environ_sizes_get: none, of 0 bytes.
func noStrings(p Process, stack []uint64) {
	stack[0] = fault(p.Memory().WriteUint32Le(imports.U32(stack, 0), 0) && p.Memory().WriteUint32Le(imports.U32(stack, 1), 0))
}

// fault is the result of a function, depending on whether its output was written.
func fault(written bool) uint64 {
	if !written {
		return errnoFault
	}
	return errnoOK
}

// random is random_get(ptr, len).
func random(p Process, stack []uint64) {
	buf, found := p.Memory().Read(imports.U32(stack, 0), imports.U32(stack, 1))
	p.Random(buf)
	stack[0] = fault(found)
}

// exit is proc_exit(code): the instance ends.
func exit(p Process, stack []uint64) { p.Exit(imports.U32(stack, 0)) }

// fdstat is fd_fdstat_get(fd, ptr): the streams are character devices that can be written to.
func fdstat(p Process, stack []uint64) {
	const characterDevice, rights = 2, 1 << 6 // fd_write
	if imports.U32(stack, 0) > 2 {
		stack[0] = errnoBadF
		return
	}
	ptr := imports.U32(stack, 1)
	stack[0] = fault(p.Memory().WriteUint64Le(ptr, characterDevice) &&
		p.Memory().WriteUint64Le(ptr+8, rights) && p.Memory().WriteUint64Le(ptr+16, 0))
}

// filestat is fd_filestat_get(fd, ptr): 64 bytes, with the type at 16.
func filestat(p Process, stack []uint64) {
	if imports.U32(stack, 0) > 2 {
		stack[0] = errnoBadF
		return
	}
	var stat [64]byte
	stat[16] = 2
	stack[0] = fault(p.Memory().Write(imports.U32(stack, 1), stat[:]))
}

// read is fd_read(fd, iovs, count, ptr): standard input is at its end.
func read(p Process, stack []uint64) {
	if imports.U32(stack, 0) != 0 {
		stack[0] = errnoBadF
		return
	}
	stack[0] = fault(p.Memory().WriteUint32Le(imports.U32(stack, 3), 0))
}

// write is fd_write(fd, iovs, count, ptr). It may write less than
// requested, like any write.
func write(p Process, stack []uint64) {
	fd := imports.U32(stack, 0)
	if fd != 1 && fd != 2 {
		stack[0] = errnoBadF
		return
	}
	vectors, found := words(p.Memory(), imports.U32(stack, 1), min(imports.U32(stack, 2), maxVectors)*2)
	if !found {
		stack[0] = errnoFault
		return
	}
	written := uint32(0)
	for i := 0; i < len(vectors) && written < maxWrite; i += 2 {
		size := min(vectors[i+1], maxWrite-written)
		data, found := p.Memory().Read(vectors[i], size)
		if !found {
			stack[0] = errnoFault
			return
		}
		p.Write(fd, data)
		written += size
	}
	stack[0] = fault(p.Memory().WriteUint32Le(imports.U32(stack, 3), written))
}

// maxWrite bounds one fd_write, in bytes.
const maxWrite = 64 << 10

// maxVectors bounds the vectors of one fd_write. Further vectors are not written.
const maxVectors = 2048

// words reads little-endian numbers of 4 bytes.
func words(m api.Memory, ptr, count uint32) ([]uint32, bool) {
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
