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
	small   int64    // the int, if it fits
	large   *big.Int // the int, if it does not
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
	large, ok := new(big.Int).SetString(text, 10)
	return number{large: large}, ok
}

func (n number) equal(m number) bool {
	switch {
	case n.isFloat && m.isFloat:
		return n.float == m.float
	case n.isFloat:
		return m.equalFloat(n.float)
	case m.isFloat:
		return n.equalFloat(m.float)
	case n.large == nil && m.large == nil:
		return n.small == m.small
	default: // large ints never equal small ones
		return n.large != nil && m.large != nil && n.large.Cmp(m.large) == 0
	}
}

// equalFloat compares an int with a float exactly, without rounding the int.
func (n number) equalFloat(float float64) bool {
	if math.IsInf(float, 0) || math.IsNaN(float) {
		return false
	}
	large := n.large
	if large == nil {
		large = big.NewInt(n.small)
	}
	return new(big.Float).SetInt(large).Cmp(big.NewFloat(float)) == 0
}

// append appends the number as Python's json.dumps writes it.
func (n number) append(out []byte) []byte {
	switch {
	case n.isFloat:
		return appendFloat(out, n.float)
	case n.large != nil:
		return n.large.Append(out, 10)
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
