package jsonlite

import "math"

// The parsers of package strconv would bring their errors, which quote texts, and the
// tables for that into each module: 50 KB.

// ParseInt decodes an integer as JSON has it. It returns false if the text is not an integer, or does not fit.
func ParseInt[T string | []byte](text T) (n int64, ok bool) {
	if len(text) > 0 && text[0] == '-' {
		size, ok := ParseUint(text[1:])
		return -int64(size), ok && size <= 1<<63
	}
	size, ok := ParseUint(text)
	return int64(size), ok && size < 1<<63
}

// ParseUint decodes digits. False: there are others, or none, or the number does not fit.
func ParseUint[T string | []byte](text T) (n uint64, ok bool) {
	for i := range len(text) {
		digit := uint64(text[i]) - '0'
		if digit > 9 || n > (math.MaxUint64-digit)/10 {
			return 0, false
		}
		n = n*10 + digit
	}
	return n, len(text) > 0
}

// decimal is a number as written in the text: digits without leading zeros, and the power of
// ten that they are multiplied with.
type decimal struct {
	digits   []byte // as numbers, not as characters
	power    int
	negative bool
}

// maxDigits is how many digits can matter to the nearest float64; of more of them, only
// whether they are all zero.
//
// See https://www.exploringbinary.com/maximum-number-of-decimal-digits-in-binary-floating-point-numbers/
const maxDigits = 800

// ParseFloat decodes a number of JSON: the nearest one, with ties to even, of 64 or of 32
// bits. It returns false if the text is not a number, or does not fit.
func ParseFloat(text []byte, bits int) (f float64, ok bool) {
	if !validNumber(string(text)) {
		return 0, false
	}
	if f, ok = quick(text); ok && bits == 64 {
		return f, true
	}
	d := readDecimal(text)
	f, ok = d.exact(bits)
	if d.negative {
		f = -f
	}
	return f, ok
}

// quick is for few digits after the point and no exponent, as most numbers have: they are
// whole floats, as is the power of ten, and the nearest one to their quotient is what the
// processor computes.
func quick(text []byte) (f float64, ok bool) {
	digits, power := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '.':
			power = len(text) - 1 - i
		case c == 'e' || c == 'E':
			return 0, false
		case c >= '0':
			f = f*10 + float64(c-'0')
			digits++
		}
	}
	if text[0] == '-' {
		f = -f
	}
	return f / math.Pow10(power), digits <= 15
}

func readDecimal(text []byte) (d decimal) {
	point, more := false, false
	for i := range len(text) {
		switch c := text[i]; c {
		case '-':
			d.negative = true
		case '.':
			point = true
		case 'e', 'E':
			d.power += exponent(text[i+1:])
			return d.closed(more)
		default:
			switch {
			case len(d.digits) == maxDigits:
				more = more || c != '0'
				d.power++
			case len(d.digits) > 0 || c != '0':
				d.digits = append(d.digits, c-'0')
			}
			if point {
				d.power--
			}
		}
	}
	return d.closed(more)
}

// closed ends the digits with one for those that were left out, unless all were zero.
func (d decimal) closed(more bool) decimal {
	if more {
		d.digits = append(d.digits, 1)
		d.power--
	}
	return d
}

// exponent is what stands behind the e, up to where all numbers are too large, or zero.
func exponent(text []byte) int {
	const enough = 1 << 30
	if text[0] == '+' {
		text = text[1:]
	}
	n, ok := ParseInt(text)
	switch {
	case !ok && text[0] == '-':
		return -enough
	case !ok:
		return enough
	}
	return int(min(max(n, -enough), enough))
}

// exact divides large integers, bit by bit.
func (d decimal) exact(bits int) (f float64, ok bool) {
	precision, least, most := 53, -1074, 971 // of float64: bits, and powers of two of the last one
	if bits == 32 {
		precision, least, most = 24, -149, 104
	}
	size := len(d.digits) + d.power // of the number, as a power of ten
	switch {
	case len(d.digits) == 0 || size < -330:
		return 0, true
	case size > 310:
		return 0, false
	}
	above, below := natural{}, natural{1}
	for _, digit := range d.digits {
		above = above.times(10, uint32(digit))
	}
	for range max(d.power, 0) {
		above = above.times(10, 0)
	}
	for range max(-d.power, 0) {
		below = below.times(10, 0)
	}
	// The quotient has one bit more than is kept, or two.
	power := max(above.length()-below.length()-precision-1, least-1)
	if power > 0 {
		below = below.shifted(power)
	} else {
		above = above.shifted(-power)
	}
	quotient, rest := above.divided(below)
	for quotient >= 1<<(precision+1) {
		rest = rest || quotient&1 != 0
		quotient, power = quotient>>1, power+1
	}
	half := quotient&1 != 0
	quotient, power = quotient>>1, power+1
	if half && (rest || quotient&1 != 0) {
		quotient++
	}
	if quotient == 1<<precision {
		quotient, power = quotient>>1, power+1
	}
	if power > most {
		return 0, false
	}
	return math.Ldexp(float64(quotient), power), true
}
