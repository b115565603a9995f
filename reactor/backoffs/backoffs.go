// Package backoffs holds the pauses between attempts. The list of pauses can be endless,
// and pauses can have jitter.
//
// Kopf: settings.networking.error_backoffs and similar settings (v1.45) take any iterable;
// this package reads their JSON form.
package backoffs

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/durations"
)

// Backoffs are the pauses between attempts. The zero value has no pauses: one attempt is
// made.
type Backoffs struct {
	List       []time.Duration
	RepeatLast bool          // repeats the last pause: attempts never end
	Jitter     time.Duration // the maximum random time that is added to each pause
}

// Seconds makes a Backoffs from pauses in seconds.
func Seconds(numbers ...float64) Backoffs {
	b := Backoffs{List: make([]time.Duration, len(numbers))}
	for i, n := range numbers {
		b.List[i] = durations.Seconds(n)
	}
	return b
}

// These constants bound the pauses that guests ask for. Each failed request causes another
// one, for which the administrator of the operator is responsible.
const (
	GuestPause    = time.Second
	GuestAttempts = 10
)

// ForGuests returns the pauses within GuestPause and GuestAttempts, and whether it changed
// them. It turns an endless last pause into repetitions up to GuestAttempts.
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

// Pause returns the pause after the given number of failures, which starts at 1. It
// returns false after the last attempt.
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

// Sticky is like Pause, but stays at the last pause, even if the list is finite. It is
// zero for an empty list.
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

// Attempts returns the maximum number of attempts; 0 means no limit.
func (b Backoffs) Attempts() int {
	if b.RepeatLast && len(b.List) > 0 {
		return 0
	}
	return len(b.List) + 1
}

// object is the JSON form with all options.
type object struct {
	List       *[]float64 `json:"list"`
	RepeatLast bool       `json:"repeatLast,omitempty"`
	Jitter     float64    `json:"jitter,omitempty"`
}

// UnmarshalJSON reads seconds, a list of seconds, or an object with a list and options:
// {"list": [1, 2, 3], "repeatLast": true, "jitter": 0.5}.
func (b *Backoffs) UnmarshalJSON(data []byte) error {
	var single *float64
	if json.Unmarshal(data, &single) == nil && single != nil {
		return b.read(object{List: &[]float64{*single}})
	}
	var list []float64
	if json.Unmarshal(data, &list) == nil && list != nil {
		return b.read(object{List: &list})
	}
	var full object
	if err := dicts.DecodeInto(data, &full); err != nil || full.List == nil {
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
	b.RepeatLast, b.Jitter = o.RepeatLast, durations.Seconds(o.Jitter)
	return nil
}

// MarshalJSON writes the list of seconds, or the object if options are set.
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

// Pause waits for d, or returns the context's error if the context ends first. It returns
// at once if d is not positive.
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
