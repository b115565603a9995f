package settings

import (
	"fmt"
	"math"
	"time"
)

// ceiling is a setting with which an operator can cost the program that hosts it time at the
// exit, memory, or goroutines. Other settings cost the operator only itself, or have bounds
// of their own.
type ceiling struct {
	name     string
	duration func(*Settings) *time.Duration // nil: a number
	number   func(*Settings) *int
	endless  bool // 0 means no limit
}

var ceilings = []ceiling{
	{name: "process.ultimate_exiting_timeout", duration: func(s *Settings) *time.Duration { return &s.Process.UltimateExitingTimeout }, endless: true},
	{name: "queueing.idle_timeout", duration: func(s *Settings) *time.Duration { return &s.Queueing.IdleTimeout }},
	{name: "posting.idle_timeout", duration: func(s *Settings) *time.Duration { return &s.Posting.IdleTimeout }},
	{name: "networking.request_timeout", duration: func(s *Settings) *time.Duration { return &s.Networking.RequestTimeout }, endless: true},
	{name: "watching.chunk_size", number: func(s *Settings) *int { return &s.Watching.ChunkSize }, endless: true},
}

// value is the value of the setting, and its text.
func (c ceiling) value(s *Settings) (value int64, text string) {
	if c.duration != nil {
		d := *c.duration(s)
		value, text = int64(d), fmt.Sprintf("%v seconds", d.Seconds())
	} else {
		value, text = int64(*c.number(s)), fmt.Sprint(*c.number(s))
	}
	if value == 0 && c.endless {
		return math.MaxInt64, "no limit"
	}
	return value, text
}

// lower gives the setting the value of other settings.
func (c ceiling) lower(s, to *Settings) {
	if c.duration != nil {
		*c.duration(s) = *c.duration(to)
		return
	}
	*c.number(s) = *c.number(to)
}

// CheckMaxima compares the settings that can cost the program of several operators time at
// its exit, memory or goroutines with those of other settings, which are the maxima.
//
// Errors name the first setting that exceeds its maximum, and both values.
func (s *Settings) CheckMaxima(maxima *Settings) error {
	for _, c := range ceilings {
		value, text := c.value(s)
		if maximum, most := c.value(maxima); value > maximum {
			return fmt.Errorf("setting %q: %s is above the maximum of the host: %s", c.name, text, most)
		}
	}
	return nil
}

// Cap makes other settings the maxima of all later changes by guests: SetByGuest then lowers
// values that exceed them, with a warning.
func (s *Settings) Cap(maxima *Settings) { s.maxima = maxima.Clone() }

// lower lowers the values that exceed the maxima. It returns a warning for each of them.
func (s *Settings) lower() (warnings []string) {
	if s.maxima == nil {
		return nil
	}
	for _, c := range ceilings {
		value, _ := c.value(s)
		if maximum, most := c.value(s.maxima); value > maximum {
			c.lower(s, s.maxima)
			warnings = append(warnings, fmt.Sprintf("setting %q of a guest is bounded: the host allows at most %s", c.name, most))
		}
	}
	return warnings
}
