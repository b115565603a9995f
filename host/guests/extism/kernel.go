package extism

import (
	"encoding/binary"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/functions"
	"github.com/kopf-wasm/kopf/host/guests"
)

// kernel is the memory that a plugin shares with the host in one call: blocks in one array,
// which the plugin accesses through host functions. The holder of the instance owns it.
//
// See https://extism.org/docs/concepts/memory
type kernel struct {
	arena  []byte
	blocks map[uint64]uint64 // lengths by offset
	freed  spans             // the free room between the blocks
	limit  int               // of the arena, in bytes

	memory  Memory // nil: no bound
	counted int    // bytes of the arena and of the blocks that count in it

	input, output, problem block

	vars variables

	maxBody int // the limit of the body of a response, in bytes

	answer  *abi.Response // to the most recent request
	headers block
}

// block is a part of the arena. The offset 0 means no block.
type block struct{ offset, size uint64 }

// kernelStart is the first offset, because 0 means no block.
const kernelStart = 16

// kernelKept is the size of the arena that is kept between calls, in bytes.
const kernelKept = 64 << 10

// reset starts a call with its input. It reports whether there is memory for it.
func (k *kernel) reset(input []byte) bool {
	k.uncount()
	k.arena = append(k.arena[:0], make([]byte, kernelStart)...)
	k.blocks, k.freed = map[uint64]uint64{}, spans{}
	k.output, k.problem, k.headers, k.answer = block{}, block{}, block{}, nil
	if !k.count(kernelStart + aligned(uint64(len(input)))) {
		return false
	}
	k.arena = append(k.arena, input...)
	k.input = block{kernelStart, uint64(len(input))}
	k.blocks[kernelStart] = k.input.size
	k.arena = append(k.arena, make([]byte, kernelStart+aligned(k.input.size)-uint64(len(k.arena)))...)
	return true
}

// forget ends a call. The output was copied before, or is a part of the old array.
func (k *kernel) forget() {
	if cap(k.arena) > kernelKept || k.output.size > 0 {
		k.arena = nil
	}
	k.blocks, k.freed, k.answer = nil, spans{}, nil
	k.uncount()
}

// blockCost is the memory of a block in addition to its room, in bytes: in the table of blocks, and in the list of freed spans.
const blockCost = 64

// count counts the arena up to an end, and the blocks, beyond what is kept between calls. What is freed counts until the end of
// the call: the array and the table do not shrink before.
func (k *kernel) count(end uint64) bool {
	more := int(end) + len(k.blocks)*blockCost - kernelKept - k.counted
	if more <= 0 {
		return true
	}
	if !take(k.memory, more) {
		return false
	}
	k.counted += more
	return true
}

// uncount gives back what count has taken.
func (k *kernel) uncount() {
	take(k.memory, -k.counted)
	k.counted = 0
}

// take takes bytes of a common memory; less than none are given back.
func take(memory Memory, bytes int) bool {
	switch {
	case memory == nil:
	case bytes < 0:
		memory.Give(-bytes)
	default:
		return memory.Take(bytes) == nil
	}
	return true
}

// kernelAlign is the alignment of blocks.
const kernelAlign = 8

func aligned(size uint64) uint64 { return (size + kernelAlign - 1) / kernelAlign * kernelAlign }

// alloc creates a block of zeros, or ends the call if the blocks exceed the limit.
func (k *kernel) alloc(size uint64) uint64 {
	if size == 0 {
		return 0
	}
	if size <= uint64(k.limit) && len(k.blocks) < maxBlocks {
		if offset, found := k.room(aligned(size)); found {
			if k.blocks[offset] = size; !k.count(uint64(len(k.arena))) {
				guests.Stop(errTogether)
			}
			return offset
		}
	}
	guests.Stop(fmt.Errorf("%w: more than %d bytes or %d blocks at the same time in one call of a plugin", guests.ErrMemory, k.limit, maxBlocks))
	return 0
}

// room finds free room in the arena, or enlarges the arena. The room holds zeros.
func (k *kernel) room(size uint64) (offset uint64, found bool) {
	if offset, found = k.freed.take(size); found {
		return offset, true
	}
	offset = uint64(len(k.arena))
	if offset+size > uint64(k.limit) {
		return 0, false
	}
	if !k.count(offset + size) {
		guests.Stop(errTogether)
	}
	k.arena = append(k.arena, make([]byte, size)...)
	return offset, true
}

// free clears a block and makes its room available again. It does nothing at an offset where
// no block begins. A plugin that frees its input has no input afterwards, as in Extism's own
// kernel.
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

// found returns a block with the data of a function that found some, or 0.
func (k *kernel) found(data []byte, code int64) uint64 {
	if code != functions.OK {
		return 0
	}
	return k.put(data)
}

// put creates a block with data.
func (k *kernel) put(data []byte) uint64 {
	offset := k.alloc(uint64(len(data)))
	copy(k.arena[offset:], data)
	return offset
}

// at returns the block at an offset, or nil.
func (k *kernel) at(offset uint64) []byte {
	size, ok := k.blocks[offset]
	if !ok {
		return nil
	}
	return k.arena[offset : offset+size : offset+size]
}

// span returns a part of the arena regardless of blocks, or nil outside the arena.
func (k *kernel) span(offset, size uint64) []byte {
	if offset < kernelStart || offset > uint64(len(k.arena)) || size > uint64(len(k.arena))-offset {
		return nil
	}
	return k.arena[offset : offset+size]
}

// word reads 8 bytes of the arena; zeros beyond its end.
func (k *kernel) word(offset uint64) uint64 {
	if s := k.span(offset, 8); s != nil {
		return binary.LittleEndian.Uint64(s)
	}
	return 0
}

// maxProblem bounds the text of an error, in bytes: the engine keeps no more of it. A block can be larger than a message.
const maxProblem = 64 << 10

// failure is the error of the plugin's function: the text that it set, or its code.
func (k *kernel) failure(code int32) string {
	if text := k.span(k.problem.offset, k.problem.size); len(text) > 0 {
		return string(text[:min(len(text), maxProblem)])
	}
	if code != 0 {
		return fmt.Sprintf("the function returned %d", code)
	}
	return ""
}

// result is the output of the function.
func (k *kernel) result() []byte { return k.span(k.output.offset, k.output.size) }
