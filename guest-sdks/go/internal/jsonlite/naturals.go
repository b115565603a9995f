package jsonlite

import "math/bits"

// natural is a large number that is not negative: words of 32 bits, the lowest one first,
// the highest one not zero.
type natural []uint32

// times multiplies with a small number, and adds one.
func (n natural) times(factor, carry uint32) natural {
	rest := uint64(carry)
	for i, word := range n {
		rest += uint64(word) * uint64(factor)
		n[i], rest = uint32(rest), rest>>32
	}
	if rest > 0 {
		n = append(n, uint32(rest))
	}
	return n
}

// length is the number of bits.
func (n natural) length() int {
	if len(n) == 0 {
		return 0
	}
	return 32*len(n) - bits.LeadingZeros32(n[len(n)-1])
}

// shifted multiplies with a power of two.
func (n natural) shifted(by int) natural {
	out := append(make(natural, by/32, by/32+len(n)+1), n...)
	return out[:by/32].join(out[by/32:].times(1<<(by%32), 0))
}

// join appends the words of another one.
func (n natural) join(high natural) natural { return append(n, high...) }

// less compares.
func (n natural) less(other natural) bool {
	if len(n) != len(other) {
		return len(n) < len(other)
	}
	for i := len(n) - 1; i >= 0; i-- {
		if n[i] != other[i] {
			return n[i] < other[i]
		}
	}
	return false
}

// minus subtracts a number that is not greater, in place.
func (n natural) minus(other natural) natural {
	var borrow uint32
	for i := range n {
		var word uint32
		if i < len(other) {
			word = other[i]
		}
		n[i], borrow = bits.Sub32(n[i], word, borrow)
	}
	for len(n) > 0 && n[len(n)-1] == 0 {
		n = n[:len(n)-1]
	}
	return n
}

// divided is the quotient, which must have less than 64 bits, and whether there is a rest.
func (n natural) divided(by natural) (quotient uint64, rest bool) {
	for shift := max(n.length()-by.length(), 0); shift >= 0; shift-- {
		quotient <<= 1
		if part := by.shifted(shift); !n.less(part) {
			n, quotient = n.minus(part), quotient|1
		}
	}
	return quotient, len(n) > 0
}
