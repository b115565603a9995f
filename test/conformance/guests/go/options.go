package main

import (
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// toOptions brings the options of a decorator into those of the SDK.
func (in *interpreter) toOptions(decorator object) ([]kopf.Option, error) {
	var opts []kopf.Option
	for name, value := range decorator {
		if value == nil {
			continue // as if it was not said
		}
		made, err := in.toOption(name, value)
		if err != nil {
			return nil, fmt.Errorf("option %s: %w", name, err)
		}
		opts = append(opts, made...)
	}
	return opts, nil
}

// toOption makes one option. What is no option of handlers gives none.
func (in *interpreter) toOption(name string, value any) ([]kopf.Option, error) {
	if make, ok := durations[name]; ok {
		if spec, isMap := value.(object); isMap && name == "initial_delay" {
			return one(in.delayFunc(spec)), nil
		}
		d, err := seconds(value)
		return make(d), err
	}
	if flag, ok := flags[name]; ok {
		if value == true {
			return flag, nil
		}
		return nil, nil
	}
	if make, ok := texts[name]; ok {
		return make(fmt.Sprint(value)), nil
	}
	switch name {
	case "param":
		return one(kopf.Param(value)), nil
	case "retries":
		n, err := into[int](value)
		return one(kopf.Retries(n)), err
	case "operations":
		list, err := into[[]string](value)
		return one(kopf.Operations(list...)), err
	case "field":
		if list, ok := value.([]any); ok {
			return one(kopf.Field(parts(list)...)), nil
		}
		return one(kopf.Field(fmt.Sprint(value))), nil
	}
	return in.toFilters(name, value)
}

// durations are the options that are seconds.
var durations = map[string]func(time.Duration) []kopf.Option{
	"timeout": of(kopf.Timeout), "backoff": of(kopf.Backoff), "interval": of(kopf.Interval), "idle": of(kopf.Idle),
	"initial_delay":        of(kopf.InitialDelay),
	"cancellation_backoff": of(kopf.CancellationBackoff),
	"cancellation_timeout": of(kopf.CancellationTimeout),
	"cancellation_polling": of(kopf.CancellationPolling),
}

// flags are the options that are true or absent.
var flags = map[string][]kopf.Option{
	"optional": one(kopf.Optional()), "deleted": one(kopf.Deleted()), "sharp": one(kopf.Sharp()), "persistent": one(kopf.Persistent()),
	"side_effects": one(kopf.SideEffects()), "ignore_failures": one(kopf.IgnoreFailures()),
}

// texts are the options that are strings.
var texts = map[string]func(string) []kopf.Option{
	"id":          of(kopf.ID),
	"subresource": of(kopf.Subresource),
	"errors":      func(mode string) []kopf.Option { return one(kopf.Errors(kopf.ErrorsMode(mode))) },
	"operation":   func(operation string) []kopf.Option { return one(kopf.Operations(operation)) },
}

// one is an option of any type: the cases say the kinds of handlers, so the host decides whether it fits.
func one(opt any) []kopf.Option { return []kopf.Option{opt.(kopf.Option)} }

// of makes an option of any type of its argument.
func of[A, O any](option func(A) O) func(A) []kopf.Option {
	return func(arg A) []kopf.Option { return one(option(arg)) }
}

// seconds is a number of seconds, whole or not.
func seconds(value any) (time.Duration, error) {
	s, err := into[float64](value)
	return time.Duration(s * float64(time.Second)), err
}

// delayFunc is an initial delay that is a function.
func (in *interpreter) delayFunc(spec object) kopf.DelayOption {
	return kopf.InitialDelayFunc(func(*kopf.Cause) time.Duration {
		in.emit(object{"callback": "initial_delay"})
		d, err := seconds(spec["delay"])
		if err != nil {
			panic(err)
		}
		return d
	})
}
