package abi

import (
	"errors"
	"strconv"
)

// Raw is an unchanged JSON value. It replaces json.RawMessage, so that guests need not
// import that package. The zero value is an absent field.
type Raw []byte

// MarshalJSON returns the value itself, or null if it is absent.
func (r Raw) MarshalJSON() ([]byte, error) {
	if len(r) == 0 {
		return []byte("null"), nil
	}
	return r, nil
}

// UnmarshalJSON keeps a copy of the data.
func (r *Raw) UnmarshalJSON(data []byte) error {
	*r = append((*r)[:0], data...)
	return nil
}

// IsNull reports whether the value is absent or null.
func (r Raw) IsNull() bool { return len(r) == 0 || string(r) == "null" }

// Delay is a number of seconds for which "absent" and "null" differ: an absent
// delay of an error means the default of 60 seconds, and null means at once.
//
// See https://docs.kopf.dev/en/latest/errors/
type Delay struct {
	Said    bool    // the field is present
	None    bool    // the field is null
	Seconds float64 // the value, if it is a number
}

// DelayOf returns a delay of this many seconds.
func DelayOf(seconds float64) Delay { return Delay{Said: true, Seconds: seconds} }

// errDelay is the error of a delay of another type.
var errDelay = errors.New("a delay must be a number of seconds or null")

// IsZero reports whether the delay is absent, for the option omitzero.
func (d Delay) IsZero() bool { return !d.Said }

// MarshalJSON writes a number or null.
func (d Delay) MarshalJSON() ([]byte, error) {
	if !d.Said || d.None {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, d.Seconds, 'f', -1, 64), nil
}

// UnmarshalJSON reads a number or null.
func (d *Delay) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*d = Delay{Said: true, None: true}
		return nil
	}
	seconds, err := strconv.ParseFloat(string(data), 64)
	if err != nil {
		return errDelay
	}
	*d = Delay{Said: true, Seconds: seconds}
	return nil
}
