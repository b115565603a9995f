package host

import (
	"encoding/binary"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
)

// kernel is the memory that a plugin shares with the host in one call: blocks in
// one array, which the plugin reads and writes by host functions. It belongs to
// whoever holds the instance.
//
// See https://extism.org/docs/concepts/memory
type kernel struct {
	arena  []byte
	blocks map[uint64]uint64 // lengths, by their offsets
	freed  spans             // the room between them
	limit  int               // of the arena, in bytes

	input, output, problem block

	vars    map[string][]byte
	stored  int // bytes in vars, names included
	maxVars int // their limit

	answer  *abi.Response // to the last request
	headers block
}

// block is a part of the arena; the offset 0 is none.
type block struct{ offset, size uint64 }

// kernelStart is the first offset: 0 means nothing.
const kernelStart = 16

// kernelKept is how much of the arena is kept between calls.
const kernelKept = 64 << 10

// reset begins a call with its input.
func (k *kernel) reset(input []byte) {
	k.arena = append(k.arena[:0], make([]byte, kernelStart)...)
	k.blocks, k.freed = map[uint64]uint64{}, spans{}
	k.output, k.problem, k.headers, k.answer = block{}, block{}, block{}, nil
	k.arena = append(k.arena, input...)
	k.input = block{kernelStart, uint64(len(input))}
	k.blocks[kernelStart] = k.input.size
	k.arena = append(k.arena, make([]byte, kernelStart+aligned(k.input.size)-uint64(len(k.arena)))...)
}

// forget ends a call. The output was copied, or is a part of the old array.
func (k *kernel) forget() {
	if cap(k.arena) > kernelKept || k.output.size > 0 {
		k.arena = nil
	}
	k.blocks, k.freed = nil, spans{}
}

// kernelAlign is what offsets of blocks are multiples of.
const kernelAlign = 8

func aligned(size uint64) uint64 { return (size + kernelAlign - 1) / kernelAlign * kernelAlign }

// alloc makes a block of zeros, or ends the call if there is too much of them.
func (k *kernel) alloc(c *call, size uint64) uint64 {
	if size == 0 {
		return 0
	}
	if size <= uint64(k.limit) && len(k.blocks) < maxBlocks {
		if offset, found := k.room(aligned(size)); found {
			k.blocks[offset] = size
			return offset
		}
	}
	c.stop(fmt.Errorf("%w: more than %d bytes or %d blocks at the same time in one call of a plugin", ErrMemory, k.limit, maxBlocks))
	return 0
}

// room finds a part of the arena that is free, or makes it larger. There are zeros.
func (k *kernel) room(size uint64) (offset uint64, found bool) {
	if offset, found = k.freed.take(size); found {
		return offset, true
	}
	offset = uint64(len(k.arena))
	if offset+size > uint64(k.limit) {
		return 0, false
	}
	k.arena = append(k.arena, make([]byte, size)...)
	return offset, true
}

// free clears a block and gives its room back, for the next blocks; it does nothing where no block begins. As in
// Extism's own kernel, a plugin that frees its input has none.
func (k *kernel) free(offset uint64) {
	size, found := k.blocks[offset]
	if !found {
		return
	}
	delete(k.blocks, offset)
	if offset == k.input.offset {
		k.input.size = 0
	}
	span := block{offset, aligned(size)}
	clear(k.arena[span.offset : span.offset+span.size])
	if span = k.freed.give(span); span.offset+span.size == uint64(len(k.arena)) {
		k.arena = k.arena[:span.offset]
		k.freed.dropLast()
	}
}

// maxBlocks bounds the table of blocks.
const maxBlocks = 1 << 18

// put is a new block with data.
func (k *kernel) put(c *call, data []byte) uint64 {
	offset := k.alloc(c, uint64(len(data)))
	copy(k.arena[offset:], data)
	return offset
}

// at is the block at an offset; nil if none begins there.
func (k *kernel) at(offset uint64) []byte {
	size, ok := k.blocks[offset]
	if !ok {
		return nil
	}
	return k.arena[offset : offset+size : offset+size]
}

// span is a part of the arena, wherever blocks are; nil if it lies outside.
func (k *kernel) span(offset, size uint64) []byte {
	if offset < kernelStart || offset > uint64(len(k.arena)) || size > uint64(len(k.arena))-offset {
		return nil
	}
	return k.arena[offset : offset+size]
}

// word reads 8 bytes of a part of the arena; nothing beyond its end.
func (k *kernel) word(offset uint64) uint64 {
	if s := k.span(offset, 8); s != nil {
		return binary.LittleEndian.Uint64(s)
	}
	return 0
}

// failure is the error of the function: what it has set, or its code.
func (k *kernel) failure(code int32) string {
	if text := k.span(k.problem.offset, k.problem.size); len(text) > 0 {
		return string(text)
	}
	if code != 0 {
		return fmt.Sprintf("the function returned %d", code)
	}
	return ""
}

// result is the output of the function.
func (k *kernel) result() []byte { return k.span(k.output.offset, k.output.size) }

// set changes a variable, or deletes it; false if there is too much in them.
func (k *kernel) set(name string, value []byte, exists bool) bool {
	stored := k.stored
	if old, ok := k.vars[name]; ok {
		stored -= len(name) + len(old)
	}
	if !exists {
		delete(k.vars, name)
		k.stored = stored
		return true
	}
	if stored += len(name) + len(value); stored > k.maxVars {
		return false
	}
	if k.vars == nil {
		k.vars = map[string][]byte{}
	}
	k.vars[name], k.stored = append([]byte(nil), value...), stored
	return true
}
