// Package backoffs holds the pauses between attempts: as lists of their lengths,
// possibly endless, possibly not exact.
//
// Kopf: settings.networking.error_backoffs and the like (v1.45), which take any
// iterable; this is their JSON form.
package backoffs

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Backoffs are the pauses between attempts. The zero value has none: there is one
// attempt.
type Backoffs struct {
	List       []time.Duration
	RepeatLast bool          // the last one again and again: attempts never end
	Jitter     time.Duration // up to so much is added to each pause, by chance
}

// Seconds makes a list of pauses.
func Seconds(numbers ...float64) Backoffs {
	b := Backoffs{List: make([]time.Duration, len(numbers))}
	for i, n := range numbers {
		b.List[i] = Duration(n)
	}
	return b
}

// century is for ever.
const century = 100 * 365 * 24 * time.Hour

// Duration is so many seconds, at most a century in both directions: guests may say any
// number, and sums of two still are durations. What is no number is nothing.
func Duration(seconds float64) time.Duration {
	switch {
	case seconds >= century.Seconds():
		return century
	case seconds <= -century.Seconds():
		return -century
	case math.IsNaN(seconds):
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// Bounds of pauses that guests ask for: each failure of a request makes another request,
// which the owner of the operator answers for.
const (
	GuestPause    = time.Second
	GuestAttempts = 10
)

// ForGuests are the pauses within GuestPause and GuestAttempts, and whether they were
// different. A last pause that is repeated for ever is repeated up to the bound.
func (b Backoffs) ForGuests() (bounded Backoffs, changed bool) {
	bounded.Jitter = b.Jitter
	for n := 1; n < GuestAttempts; n++ {
		pause, ok := Backoffs{List: b.List, RepeatLast: b.RepeatLast}.Pause(n)
		if !ok {
			break
		}
		bounded.List = append(bounded.List, max(pause, GuestPause))
	}
	return bounded, b.RepeatLast && len(b.List) > 0 || !slices.Equal(bounded.List, b.List)
}

// Pause is the pause after so many failures, from 1 on; none if that was the last
// attempt.
func (b Backoffs) Pause(failures int) (pause time.Duration, ok bool) {
	switch {
	case len(b.List) > 0 && failures <= len(b.List):
		pause = b.List[max(failures, 1)-1]
	case b.RepeatLast && len(b.List) > 0:
		pause = b.List[len(b.List)-1]
	default:
		return 0, false
	}
	return b.jittered(pause), true
}

// Sticky is Pause that stays at the last pause, endless or not; zero if there is none.
func (b Backoffs) Sticky(failures int) time.Duration {
	pause, _ := b.Pause(min(failures, len(b.List)))
	return pause
}

func (b Backoffs) jittered(pause time.Duration) time.Duration {
	if b.Jitter <= 0 {
		return pause
	}
	return pause + rand.N(b.Jitter)
}

// Attempts is how many attempts there are at most; 0 is no limit.
func (b Backoffs) Attempts() int {
	if b.RepeatLast && len(b.List) > 0 {
		return 0
	}
	return len(b.List) + 1
}

// object is the JSON form of all options.
type object struct {
	List       *[]float64 `json:"list"`
	RepeatLast bool       `json:"repeatLast,omitempty"`
	Jitter     float64    `json:"jitter,omitempty"`
}

// UnmarshalJSON reads a number of seconds, a list of them, or an object with a list
// and options: {"list": [1, 2, 3], "repeatLast": true, "jitter": 0.5}.
func (b *Backoffs) UnmarshalJSON(data []byte) error {
	var single *float64
	if json.Unmarshal(data, &single) == nil && single != nil {
		return b.read(object{List: &[]float64{*single}})
	}
	var list []float64
	if json.Unmarshal(data, &list) == nil && list != nil {
		return b.read(object{List: &list})
	}
	full, err := strict(data)
	if err != nil || full.List == nil {
		return fmt.Errorf(`%.200s is not a number, a list of numbers of seconds, or {"list": […], "repeatLast": true, "jitter": …}`, data)
	}
	return b.read(full)
}

func (b *Backoffs) read(o object) error {
	if i := slices.IndexFunc(*o.List, func(n float64) bool { return n < 0 }); i >= 0 {
		return fmt.Errorf("%v is negative", (*o.List)[i])
	}
	if o.Jitter < 0 {
		return fmt.Errorf("jitter: %v is negative", o.Jitter)
	}
	*b = Seconds(*o.List...)
	b.RepeatLast, b.Jitter = o.RepeatLast, Duration(o.Jitter)
	return nil
}

// MarshalJSON writes the list of seconds, or the object if there are options.
func (b Backoffs) MarshalJSON() ([]byte, error) {
	list := make([]float64, len(b.List))
	for i, d := range b.List {
		list[i] = d.Seconds()
	}
	if !b.RepeatLast && b.Jitter == 0 {
		return json.Marshal(list)
	}
	return json.Marshal(object{&list, b.RepeatLast, b.Jitter.Seconds()})
}

// Pause waits for a time; the error is the context's, if that ends first. A time that
// is over already is no wait.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
