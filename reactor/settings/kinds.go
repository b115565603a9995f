package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kopf-wasm/kopf/internal/durations"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
)

// decode decodes a value of a type; null is an error.
func decode[T any](value json.RawMessage, want string) (T, error) {
	var decoded *T
	if err := json.Unmarshal(value, &decoded); err != nil || decoded == nil {
		var none T
		return none, fmt.Errorf("%.200s is not %s", value, want)
	}
	return *decoded, nil
}

func isNull(value json.RawMessage) bool { return string(value) == "null" }

// simple makes a setting whose JSON form is its value.
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

// limit makes a setting that is a number of at least 0; null and 0 mean no limit.
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

// optionalFlag makes a flag for which null leaves the choice to the operator.
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

// qualifiedName is a text that the API server accepts as a finalizer. It answers another one as it answers a conflict, so the
// operator would try to add it again and again, without an error.
func qualifiedName(at func(*Settings) *string) field {
	f := text(at)
	set := f.set
	f.set = func(s *Settings, value json.RawMessage) error {
		before := *at(s)
		err := set(s, value)
		if wrong := validation.IsQualifiedName(*at(s)); err == nil && len(wrong) > 0 {
			err = fmt.Errorf("invalid name %q: %s", *at(s), wrong[0])
			*at(s) = before
		}
		return err
	}
	return f
}

// objectName makes a setting that is the name of an object in the cluster.
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

// duration makes a setting in seconds; null and 0 mean no limit.
func duration(at func(*Settings) *time.Duration) field {
	f := simple(at, readSeconds)
	f.get = func(s *Settings) any { return at(s).Seconds() }
	return f
}

// optional makes a setting in seconds for which null differs from 0.
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
	return durations.Seconds(number), nil
}

// pauses makes a setting for pauses between attempts, in any JSON form of backoffs.
func pauses(at func(*Settings) *backoffs.Backoffs) field {
	return simple(at, func(value json.RawMessage) (read backoffs.Backoffs, err error) {
		err = read.UnmarshalJSON(value)
		return read, err
	})
}

// requestPauses makes a setting for pauses between attempts of a request. Guests cannot
// make them endless or too short.
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

// guestReconnect is the shortest pause between two watches that guests can set.
const guestReconnect = 100 * time.Millisecond

// atLeast makes a duration that guests cannot set below least.
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

// storage makes a setting that is built from JSON, but cannot be written as JSON.
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

// absent makes a setting of Kopf that is not supported here.
func absent(why string) field {
	return field{set: func(*Settings, json.RawMessage) error {
		return errors.New("this setting of Kopf is not supported: " + why)
	}}
}

// managed decodes the name of webhook configurations, or null.
func managed(s *Settings, value json.RawMessage) error {
	if isNull(value) {
		s.Admission.Managed = ""
		return nil
	}
	name, err := readObjectName(value)
	if err == nil {
		s.Admission.Managed = name
	}
	return err
}

// server stores the value; the code that makes the server validates it.
func server(s *Settings, value json.RawMessage) error {
	s.Admission.Server, s.Admission.FromGuest = nil, false
	if text := bytes.TrimSpace(value); string(text) != "null" {
		s.Admission.Server = append(json.RawMessage{}, text...)
	}
	return nil
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
