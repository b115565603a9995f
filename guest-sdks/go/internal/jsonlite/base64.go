package jsonlite

import (
	"errors"
	"strings"
)

// The standard base64 of RFC 4648, with padding. encoding/base64 would add 15 KB to
// each module.

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

var errBase64 = errors.New("malformed base64")

// EncodeBase64 is the text for bytes.
func EncodeBase64(data []byte) string {
	out := make([]byte, 0, (len(data)+2)/3*4)
	for len(data) > 0 {
		var group uint32
		n := min(len(data), 3)
		for i := range 3 {
			group <<= 8
			if i < n {
				group |= uint32(data[i])
			}
		}
		for i := range 4 {
			if i > n {
				out = append(out, '=')
			} else {
				out = append(out, base64Digits[group>>(18-6*i)&63])
			}
		}
		data = data[n:]
	}
	return string(out)
}

// DecodeBase64 is the bytes of a text. Ends of lines are ignored.
func DecodeBase64(text string) ([]byte, error) {
	out := make([]byte, 0, len(text)/4*3)
	var group uint32
	n, padding := 0, 0 // characters of the group
	for i := range len(text) {
		c := text[i]
		digit := strings.IndexByte(base64Digits, c)
		switch {
		case c == '\r' || c == '\n':
			continue
		case c == '=' && n >= 2:
			padding, digit = padding+1, 0
		case digit < 0 || padding > 0:
			return nil, errBase64
		}
		group = group<<6 | uint32(digit)
		if n++; n == 4 {
			out = append(out, byte(group>>16), byte(group>>8), byte(group))
			out = out[:len(out)-padding]
			n = 0 // the padding stays: nothing comes after it
		}
	}
	if n != 0 {
		return nil, errBase64
	}
	return out, nil
}
