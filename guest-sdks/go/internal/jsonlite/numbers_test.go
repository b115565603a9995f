package jsonlite

import (
	"bytes"
	"encoding/base64"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestParseInt(t *testing.T) {
	for _, text := range []string{
		"0", "-0", "7", "-7", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
		"18446744073709551616", "99999999999999999999", "", "-", "1.0", "1e3", "x", "1x", " 1", "0x1", "1_0",
	} {
		want, err := strconv.ParseInt(text, 10, 64)
		if got, ok := ParseInt(text); ok != (err == nil) || ok && got != want {
			t.Errorf("%q: %d %t, want %d %v", text, got, ok, want, err)
		}
		size, err := strconv.ParseUint(text, 10, 64)
		if got, ok := ParseUint(text); ok != (err == nil) || ok && got != size {
			t.Errorf("%q unsigned: %d %t, want %d %v", text, got, ok, size, err)
		}
	}
}

// TestParseFloat compares with the parser of the standard library.
func TestParseFloat(t *testing.T) {
	texts := []string{
		"0", "-0", "0.0", "0e9", "0.000e-999999999999999999999", "1", "-1", "1.5", "0.1", "0.3", "100", "1e22", "1e23", "123456789012345678901234567890",
		"1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "2e308", "1e309", "1e99999999999999999999", "1e-99999999999999999999",
		"4.9406564584124654e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.2250738585072014e-308", "2.2250738585072011e-308", "1e-400",
		"9007199254740993", "9007199254740992.5", "9007199254740993.0000000000000000000000000000000001", "16777217", "3.4028235677973366e38", "3.4028234e38",
		"1.401298464324817e-45", "7.0064923216240853e-46", "7.0064923216240854e-46", "0.000001", "123.456e-7", "5e-1", "1E+2",
		"1" + strings.Repeat("0", 400) + "e-400", "0." + strings.Repeat("0", 400) + "1e400", "9007199254740993." + strings.Repeat("0", 900) + "1",
		"1e9223372036854775807", "1e-9223372036854775807", strings.Repeat("9", 310),
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same ones each time
	for range 20_000 {
		f := math.Float64frombits(random.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		texts = append(texts, strconv.FormatFloat(f, 'e', random.IntN(25)-1, 64), strconv.FormatFloat(random.NormFloat64(), 'f', random.IntN(20), 64))
		next := math.Nextafter(f, math.Inf(1)) // what is just between two of them
		if text := strconv.FormatFloat(f/2+next/2, 'e', 60, 64); math.Abs(f) < 1e300 {
			texts = append(texts, text)
		}
		texts = append(texts, strconv.FormatFloat(float64(math.Float32frombits(random.Uint32())), 'e', random.IntN(20), 64))
	}
	for _, text := range texts {
		for _, bits := range []int{32, 64} {
			want, err := strconv.ParseFloat(text, bits)
			got, ok := ParseFloat([]byte(text), bits)
			if !validNumber(text) {
				err = strconv.ErrSyntax
			}
			if ok != (err == nil) || ok && math.Float64bits(got) != math.Float64bits(want) {
				t.Fatalf("%s as %d bits: %v %t, want %v %v", text, bits, got, ok, want, err)
			}
		}
	}
}

// TestParseFloatOfManyDigits: those before the point are where strconv forgets how many.
func TestParseFloatOfManyDigits(t *testing.T) {
	if got, ok := ParseFloat([]byte("9007199254740993"+strings.Repeat("0", 900)+"1e-901"), 64); !ok || got != 9007199254740994 {
		t.Errorf("%v %t", got, ok)
	}
}

func TestSortKeys(t *testing.T) {
	for n := range 60 {
		keys := make([]string, n)
		for i := range keys {
			keys[i] = strconv.Itoa((i * 7919) % 50)
		}
		values := make([]reflect.Value, n)
		for i := range keys {
			values[i] = reflect.ValueOf(keys[i])
		}
		want := slices.Sorted(slices.Values(keys))
		if sortKeysOf(keys, values); !slices.Equal(keys, want) {
			t.Errorf("%q, want %q", keys, want)
		}
		for i := range keys {
			if values[i].String() != keys[i] {
				t.Errorf("the value of %q is %q", keys[i], values[i])
			}
		}
	}
}

func TestBase64(t *testing.T) {
	for n := range 20 {
		data := bytes.Repeat([]byte{0xfb, 0, 'x', 0x7f}, 5)[:n]
		text := EncodeBase64(data)
		if want := base64.StdEncoding.EncodeToString(data); text != want {
			t.Errorf("%x: %q, want %q", data, text, want)
		}
		for cut := range len(text) + 1 {
			for _, changed := range []string{text[:cut] + text[cut:], text[:cut], text[:cut] + "\r\n" + text[cut:], text[:cut] + "=" + text[cut:], text[:cut] + "A" + text[cut:], text[:cut] + "é" + text[cut:]} {
				want, err := base64.StdEncoding.DecodeString(changed)
				if got, gotErr := DecodeBase64(changed); (err == nil) != (gotErr == nil) || err == nil && !bytes.Equal(got, want) {
					t.Errorf("%q: %x %v, want %x %v", changed, got, gotErr, want, err)
				}
			}
		}
	}
}
