package stores

import (
	"encoding/binary"
	"math/bits"
)

// BLAKE2b, without a key, for digests of 4 bytes: the reference makes unique
// names with it, and the standard library has no such function.
// See https://www.rfc-editor.org/rfc/rfc7693

// blakeSize is the size of digests in bytes. The size is a parameter of the
// function, so a digest is not the beginning of a longer one.
const blakeSize = 4

// blakeBlock is the size in bytes of what is compressed at once.
const blakeBlock = 128

var blakeIV = [8]uint64{
	0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
	0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
}

// blakeSigma is the order of the message's words in each round.
var blakeSigma = [12][16]byte{
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
	{11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
	{7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
	{9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
	{2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
	{12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
	{13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
	{6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
	{10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
}

// blakeLanes are the words that are mixed with each other: columns, then diagonals.
var blakeLanes = [8][4]byte{
	{0, 4, 8, 12},
	{1, 5, 9, 13},
	{2, 6, 10, 14},
	{3, 7, 11, 15},
	{0, 5, 10, 15},
	{1, 6, 11, 12},
	{2, 7, 8, 13},
	{3, 4, 9, 14},
}

// blake2b4 is BLAKE2b with a digest of 4 bytes.
func blake2b4(message []byte) [blakeSize]byte {
	state := blakeIV
	state[0] ^= 0x01010000 | blakeSize // fan-out 1, depth 1, no key
	size := uint64(len(message))
	done := uint64(0)
	for len(message) > blakeBlock { // the last block waits even if it is full
		done += blakeBlock
		blakeCompress(&state, message[:blakeBlock], done, false)
		message = message[blakeBlock:]
	}
	var last [blakeBlock]byte
	copy(last[:], message)
	blakeCompress(&state, last[:], size, true)

	var digest [blakeSize]byte
	binary.LittleEndian.PutUint32(digest[:], uint32(state[0]))
	return digest
}

// blakeCompress mixes one block into the state, after so many bytes in all.
func blakeCompress(state *[8]uint64, block []byte, done uint64, last bool) {
	var words, v [16]uint64
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(block[8*i:])
	}
	copy(v[:8], state[:])
	copy(v[8:], blakeIV[:])
	v[12] ^= done
	if last {
		v[14] = ^v[14]
	}
	for _, order := range blakeSigma {
		for i, lane := range blakeLanes {
			a, b, c, d := &v[lane[0]], &v[lane[1]], &v[lane[2]], &v[lane[3]]
			*a += *b + words[order[2*i]]
			*d = bits.RotateLeft64(*d^*a, -32)
			*c += *d
			*b = bits.RotateLeft64(*b^*c, -24)
			*a += *b + words[order[2*i+1]]
			*d = bits.RotateLeft64(*d^*a, -16)
			*c += *d
			*b = bits.RotateLeft64(*b^*c, -63)
		}
	}
	for i := range state {
		state[i] ^= v[i] ^ v[i+8]
	}
}
