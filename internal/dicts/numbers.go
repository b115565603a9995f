package dicts

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// number is a JSON number as Python sees it: an int of any size, or a float. The notation
// decides which one, not the value.
type number struct {
	small   int64  // the int, if it fits
	large   string // the digits of the int, with its sign, if it does not
	float   float64
	isFloat bool
}

// numberOf returns the numeric value of what Python considers a number. Booleans are
// numbers: True == 1. Go's own types come from code, not from JSON.
func numberOf(v any) (number, bool) {
	switch v := v.(type) {
	case json.Number:
		return parseNumber(string(v))
	case bool:
		if v {
			return number{small: 1}, true
		}
		return number{}, true
	case int:
		return number{small: int64(v)}, true
	case int64:
		return number{small: v}, true
	case float64:
		return number{float: v, isFloat: true}, true
	default:
		return number{}, false
	}
}

func parseNumber(text string) (number, bool) {
	if strings.ContainsAny(text, ".eE") {
		// Both languages turn a number out of range into an infinity.
		float, err := strconv.ParseFloat(text, 64)
		return number{float: float, isFloat: true}, err == nil || math.IsInf(float, 0)
	}
	if small, err := strconv.ParseInt(text, 10, 64); err == nil {
		return number{small: small}, true
	}
	return largeNumber(text)
}

// largeNumber returns an int that does not fit into 64 bits. Its digits stay text: equal ints have equal ones, and a conversion
// takes quadratic time, while a message of a guest has up to 8 MiB.
func largeNumber(text string) (number, bool) {
	digits, negative := strings.CutPrefix(text, "-")
	if digits = strings.TrimLeft(digits, "0"); digits == "" || strings.Trim(digits, "0123456789") != "" {
		return number{}, false
	}
	if negative {
		digits = "-" + digits
	}
	return number{large: digits}, true
}

func (n number) equal(m number) bool {
	switch {
	case n.isFloat && m.isFloat:
		return n.float == m.float
	case n.isFloat:
		return m.equalFloat(n.float)
	case m.isFloat:
		return n.equalFloat(m.float)
	default: // large ints never equal small ones
		return n.small == m.small && n.large == m.large
	}
}

// maxFloatDigits is the length of the longest int that a float can equal: of 309 digits, with its sign.
const maxFloatDigits = 310

// equalFloat compares an int with a float exactly, without rounding the int.
func (n number) equalFloat(float float64) bool {
	if math.IsInf(float, 0) || math.IsNaN(float) {
		return false
	}
	if len(n.large) > maxFloatDigits {
		return false
	}
	exact := big.NewInt(n.small)
	if n.large != "" {
		exact.SetString(n.large, 10)
	}
	return new(big.Float).SetInt(exact).Cmp(big.NewFloat(float)) == 0
}

// append appends the number as Python's json.dumps writes it.
func (n number) append(out []byte) []byte {
	switch {
	case n.isFloat:
		return appendFloat(out, n.float)
	case n.large != "":
		return append(out, n.large...)
	default:
		return strconv.AppendInt(out, n.small, 10)
	}
}

// appendFloat appends repr(float): the shortest digits that give the same value, with an
// exponent below 1e-4 and from 1e16 on, and with ".0" for whole numbers.
// See https://docs.python.org/3/library/functions.html#repr
func appendFloat(out []byte, float float64) []byte {
	switch {
	case math.IsInf(float, 1):
		return append(out, "Infinity"...)
	case math.IsInf(float, -1):
		return append(out, "-Infinity"...)
	case math.IsNaN(float):
		return append(out, "NaN"...)
	}
	if size := math.Abs(float); size != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.AppendFloat(out, float, 'e', -1, 64)
	}
	start := len(out)
	out = strconv.AppendFloat(out, float, 'f', -1, 64)
	if bytes.IndexByte(out[start:], '.') < 0 {
		out = append(out, ".0"...)
	}
	return out
}
