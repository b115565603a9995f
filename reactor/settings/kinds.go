package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
)

// decode reads a value of a type; null is of none.
func decode[T any](value json.RawMessage, want string) (T, error) {
	var decoded *T
	if err := json.Unmarshal(value, &decoded); err != nil || decoded == nil {
		var none T
		return none, fmt.Errorf("%.200s is not %s", value, want)
	}
	return *decoded, nil
}

func isNull(value json.RawMessage) bool { return string(value) == "null" }

// simple is a setting whose JSON form is its value.
func simple[T any](at func(*Settings) *T, read func(json.RawMessage) (T, error)) field {
	set := func(s *Settings, value json.RawMessage) error {
		decoded, err := read(value)
		if err == nil {
			*at(s) = decoded
		}
		return err
	}
	return field{set: set, get: func(s *Settings) any { return *at(s) }}
}

// limit is a number that cannot be negative; null is none, as 0 is.
func limit(at func(*Settings) *int) field {
	return simple(at, func(value json.RawMessage) (int, error) {
		if isNull(value) {
			return 0, nil
		}
		number, err := decode[int](value, "a whole number")
		if err == nil && number < 0 {
			err = fmt.Errorf("%d is negative", number)
		}
		return number, err
	})
}

func number(at func(*Settings) *int) field {
	return simple(at, func(value json.RawMessage) (int, error) { return decode[int](value, "a whole number") })
}

func flag(at func(*Settings) *bool) field {
	return simple(at, func(value json.RawMessage) (bool, error) { return decode[bool](value, "true or false") })
}

// optionalFlag is one that null leaves to the operator.
func optionalFlag(at func(*Settings) **bool) field {
	return simple(at, func(value json.RawMessage) (*bool, error) {
		if isNull(value) {
			return nil, nil //nolint:nilnil // null is a value
		}
		on, err := decode[bool](value, "true, false or null")
		return &on, err
	})
}

func text(at func(*Settings) *string) field {
	f := simple(at, func(value json.RawMessage) (string, error) {
		text, err := decode[string](value, "a string")
		if err == nil && text == "" {
			err = errors.New("it is empty")
		}
		return text, err
	})
	f.bare = true
	return f
}

// objectName is the name of an object in the cluster.
func objectName(at func(*Settings) *string) field {
	f := simple(at, readObjectName)
	f.bare = true
	return f
}

func readObjectName(value json.RawMessage) (string, error) {
	name, err := decode[string](value, "a string")
	if err == nil {
		err = apipath.CheckName(name)
	}
	return name, err
}

// duration is a number of seconds; null is no limit, as 0 is.
func duration(at func(*Settings) *time.Duration) field {
	f := simple(at, readSeconds)
	f.get = func(s *Settings) any { return at(s).Seconds() }
	return f
}

// optional is a number of seconds, in which null is not 0.
func optional(at func(*Settings) **time.Duration) field {
	set := func(s *Settings, value json.RawMessage) error {
		d, err := readSeconds(value)
		switch {
		case err != nil:
			return err
		case isNull(value):
			*at(s) = nil
		default:
			*at(s) = &d
		}
		return nil
	}
	get := func(s *Settings) any {
		if d := *at(s); d != nil {
			return d.Seconds()
		}
		return nil
	}
	return field{set: set, get: get}
}

func readSeconds(value json.RawMessage) (time.Duration, error) {
	if isNull(value) {
		return 0, nil
	}
	number, err := decode[float64](value, "a number of seconds")
	switch {
	case err != nil:
		return 0, err
	case number < 0:
		return 0, fmt.Errorf("%v is negative", number)
	case number > math.MaxInt64/float64(time.Second):
		return 0, fmt.Errorf("%v seconds are too long", number)
	}
	return Seconds(number), nil
}

// pauses are those between attempts, in one of the forms of backoffs.
func pauses(at func(*Settings) *backoffs.Backoffs) field {
	return simple(at, func(value json.RawMessage) (read backoffs.Backoffs, err error) {
		err = read.UnmarshalJSON(value)
		return read, err
	})
}

// requestPauses are pauses between attempts of a request, which guests cannot make endless
// or short.
func requestPauses(at func(*Settings) *backoffs.Backoffs) field {
	f := pauses(at)
	f.bound = func(s *Settings) string {
		bounded, changed := at(s).ForGuests()
		if *at(s) = bounded; !changed {
			return ""
		}
		return fmt.Sprintf("pauses are %v at least, and attempts %d at most", backoffs.GuestPause, backoffs.GuestAttempts)
	}
	return f
}

// guestReconnect is the shortest pause of guests between two watches.
const guestReconnect = 100 * time.Millisecond

// atLeast is a duration that guests cannot make shorter.
func atLeast(least time.Duration, at func(*Settings) *time.Duration) field {
	f := duration(at)
	f.bound = func(s *Settings) string {
		if *at(s) >= least {
			return ""
		}
		*at(s) = least
		return fmt.Sprintf("it is %v at least", least)
	}
	return f
}

func filters(at func(*Settings) *Filters) field {
	return simple(at, func(value json.RawMessage) (read Filters, err error) {
		err = read.UnmarshalJSON(value)
		return read, err
	})
}

// storage is made of its JSON form, and has none afterwards.
func storage[T any](build func(json.RawMessage) (T, error), at func(*Settings) *T) field {
	set := func(s *Settings, value json.RawMessage) error {
		made, err := build(value)
		if err != nil {
			return err
		}
		*at(s) = made
		return nil
	}
	return field{set: set}
}

// absent is a setting of the reference that makes no sense here.
func absent(why string) field {
	return field{set: func(*Settings, json.RawMessage) error { return errors.New("there is no such thing here: " + why) }}
}
