package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/stores"
)

// field is one setting.
type field struct {
	set func(s *Settings, value json.RawMessage) error
	get func(s *Settings) any // nil: it has no JSON form
}

// fields are the settings by their dotted names, as in the reference.
var fields = map[string]field{
	"queueing.worker_limit":           limit(func(s *Settings) *int { return &s.Queueing.WorkerLimit }),
	"queueing.idle_timeout":           duration(func(s *Settings) *time.Duration { return &s.Queueing.IdleTimeout }),
	"queueing.exit_timeout":           duration(func(s *Settings) *time.Duration { return &s.Queueing.ExitTimeout }),
	"queueing.error_delays":           durations(func(s *Settings) *[]time.Duration { return &s.Queueing.ErrorDelays }),
	"watching.server_timeout":         duration(func(s *Settings) *time.Duration { return &s.Watching.ServerTimeout }),
	"watching.client_timeout":         duration(func(s *Settings) *time.Duration { return &s.Watching.ClientTimeout }),
	"watching.reconnect_backoff":      duration(func(s *Settings) *time.Duration { return &s.Watching.ReconnectBackoff }),
	"watching.inactivity_timeout":     duration(func(s *Settings) *time.Duration { return &s.Watching.InactivityTimeout }),
	"watching.chunk_size":             limit(func(s *Settings) *int { return &s.Watching.ChunkSize }),
	"networking.request_timeout":      duration(func(s *Settings) *time.Duration { return &s.Networking.RequestTimeout }),
	"networking.error_backoffs":       durations(func(s *Settings) *[]time.Duration { return &s.Networking.ErrorBackoffs }),
	"networking.enforce_retry_after":  flag(func(s *Settings) *bool { return &s.Networking.EnforceRetryAfter }),
	"persistence.finalizer":           text(func(s *Settings) *string { return &s.Persistence.Finalizer }),
	"persistence.progress_storage":    {set: progressStorage},
	"persistence.diffbase_storage":    {set: diffBaseStorage},
	"persistence.consistency_timeout": duration(func(s *Settings) *time.Duration { return &s.Persistence.ConsistencyTimeout }),
	"execution.default_backoff":       duration(func(s *Settings) *time.Duration { return &s.Execution.DefaultBackoff }),
	"background.cancellation_polling": duration(func(s *Settings) *time.Duration { return &s.Background.CancellationPolling }),
	"posting.enabled":                 flag(func(s *Settings) *bool { return &s.Posting.Enabled }),
	"posting.loggers":                 flag(func(s *Settings) *bool { return &s.Posting.Loggers }),
	"posting.level":                   limit(func(s *Settings) *int { return &s.Posting.Level }),
	"posting.default_backoffs":        durations(func(s *Settings) *[]time.Duration { return &s.Posting.DefaultBackoffs }),
	"posting.logging_backoffs":        durations(func(s *Settings) *[]time.Duration { return &s.Posting.LoggingBackoffs }),
	"posting.worker_limit":            limit(func(s *Settings) *int { return &s.Posting.WorkerLimit }),
	"posting.reporting_component":     text(func(s *Settings) *string { return &s.Posting.ReportingComponent }),
	"posting.reporting_instance":      text(func(s *Settings) *string { return &s.Posting.ReportingInstance }),
	"posting.event_name_prefix":       text(func(s *Settings) *string { return &s.Posting.EventNamePrefix }),
	"peering.name":                    text(func(s *Settings) *string { return &s.Peering.Name }),
	"peering.priority":                number(func(s *Settings) *int { return &s.Peering.Priority }),
	"peering.lifetime":                duration(func(s *Settings) *time.Duration { return &s.Peering.Lifetime }),
	"peering.stealth":                 flag(func(s *Settings) *bool { return &s.Peering.Stealth }),
	"peering.mandatory":               flag(func(s *Settings) *bool { return &s.Peering.Mandatory }),
	"peering.standalone":              flag(func(s *Settings) *bool { return &s.Peering.Standalone }),
	"peering.clusterwide":             flag(func(s *Settings) *bool { return &s.Peering.Clusterwide }),
	"admission.managed":               {set: managed, get: func(s *Settings) any { return orNull(s.Admission.Managed) }},
	"admission.server":                {set: server, get: func(s *Settings) any { return s.Admission.Server }},
	"scanning.disabled":               flag(func(s *Settings) *bool { return &s.Scanning.Disabled }),
}

// Set changes a setting by its dotted name. The value is JSON: seconds for
// durations, null or 0 for no limit. An error names the setting.
func (s *Settings) Set(name string, value json.RawMessage) error {
	known, ok := fields[name]
	if !ok {
		return fmt.Errorf("unknown setting %q; known are: %s", name, strings.Join(Names(), ", "))
	}
	if err := known.set(s, value); err != nil {
		return fmt.Errorf("setting %q: %w", name, err)
	}
	return nil
}

// JSON is the present value of all settings that have a JSON form, by their dotted
// names: what handlers of activities get.
func (s *Settings) JSON() (json.RawMessage, error) {
	values := map[string]any{}
	for name, field := range fields {
		if field.get != nil {
			values[name] = field.get(s)
		}
	}
	return json.Marshal(values)
}

// Names lists all settings that can be set.
func Names() []string {
	var names []string
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func decode[T any](value json.RawMessage, want string) (decoded T, err error) {
	if err = json.Unmarshal(value, &decoded); err != nil {
		return decoded, fmt.Errorf("%s is not %s", value, want)
	}
	return decoded, nil
}

// limit is a number that cannot be negative.
func limit(at func(*Settings) *int) field {
	field := number(at)
	set := field.set
	field.set = func(s *Settings, value json.RawMessage) error {
		if number, err := decode[int](value, "a number"); err == nil && number < 0 {
			return fmt.Errorf("%d is negative", number)
		}
		return set(s, value)
	}
	return field
}

func number(at func(*Settings) *int) field {
	set := func(s *Settings, value json.RawMessage) error {
		number, err := decode[int](value, "a number")
		if err == nil {
			*at(s) = number
		}
		return err
	}
	return field{set: set, get: func(s *Settings) any { return *at(s) }}
}

func flag(at func(*Settings) *bool) field {
	set := func(s *Settings, value json.RawMessage) error {
		on, err := decode[bool](value, "true or false")
		if err == nil {
			*at(s) = on
		}
		return err
	}
	return field{set: set, get: func(s *Settings) any { return *at(s) }}
}

func duration(at func(*Settings) *time.Duration) field {
	set := func(s *Settings, value json.RawMessage) error {
		number, err := decode[float64](value, "a number of seconds")
		if err == nil && number < 0 {
			err = fmt.Errorf("%v is negative", number)
		}
		if err == nil {
			*at(s) = Seconds(number)
		}
		return err
	}
	return field{set: set, get: func(s *Settings) any { return at(s).Seconds() }}
}

// durations takes one number or a list of them.
func durations(at func(*Settings) *[]time.Duration) field {
	set := func(s *Settings, value json.RawMessage) error {
		if single, err := decode[float64](value, ""); err == nil {
			*at(s) = seconds(single)
			return nil
		}
		list, err := decode[[]float64](value, "a number or a list of numbers of seconds")
		if err == nil {
			*at(s) = seconds(list...)
		}
		return err
	}
	return field{set: set, get: func(s *Settings) any { return inSeconds(*at(s)) }}
}

func inSeconds(durations []time.Duration) []float64 {
	numbers := make([]float64, len(durations))
	for i, d := range durations {
		numbers[i] = d.Seconds()
	}
	return numbers
}

func text(at func(*Settings) *string) field {
	set := func(s *Settings, value json.RawMessage) error {
		name, err := decode[string](value, "a string")
		if err == nil && name == "" {
			err = fmt.Errorf("it is empty")
		}
		if err == nil {
			*at(s) = name
		}
		return err
	}
	return field{set: set, get: func(s *Settings) any { return *at(s) }}
}

func progressStorage(s *Settings, value json.RawMessage) error {
	storage, err := stores.NewProgress(value)
	if err == nil {
		s.Persistence.Progress = storage
	}
	return err
}

func diffBaseStorage(s *Settings, value json.RawMessage) error {
	storage, err := stores.NewDiffBase(value)
	if err == nil {
		s.Persistence.DiffBase = storage
	}
	return err
}
