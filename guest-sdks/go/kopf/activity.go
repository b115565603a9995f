package kopf

import (
	"cmp"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// Activity is the argument of handlers that are for the whole operator: those of
// OnStartup, OnCleanup, OnProbe and OnLogin.
type Activity struct {
	Call
	Activity string // startup, cleanup, probe, authentication
	Settings *Settings

	// Logins are the names of the host's own credentials: of login handlers only.
	Logins []string
}

// ActivityFunc is a handler for the whole operator. Results count for probes and logins.
type ActivityFunc = func(a *Activity) (any, error)

// newActivity makes the argument of a handler of a task.
func newActivity(t *guest.Task) *Activity {
	return &Activity{
		Call:     newCall(t),
		Activity: t.Call.Activity,
		Settings: &Settings{current: View{&node{raw: t.Call.Settings, key: "settings"}}},
		Logins:   t.Call.Logins,
	}
}

func runActivity(fn ActivityFunc) func(*guest.Task) guest.Done {
	return func(t *guest.Task) guest.Done {
		a := newActivity(t)
		return a.finish(func() (any, error) { return fn(a) })
	}
}

// finish calls a handler, and makes the outcome of the task.
func (a *Activity) finish(call func() (any, error)) guest.Done {
	var changed map[string]abi.Raw
	done := finish(nil, func() (any, error) {
		result, err := call()
		var unsent error
		changed, unsent = a.Settings.wire() // they hold after errors, too
		return result, cmp.Or(err, unsent)
	})
	done.Settings = changed
	return done
}

// Settings are the settings of the operator. Startup handlers may change them:
//
//	a.Settings.Set("persistence.finalizer", "example.com/finalizer")
//
// The manual lists what a guest may set, and what its host decides.
//
// See https://docs.kopf.dev/en/latest/configuration/
type Settings struct {
	current View
	changed Map
}

// Get is the present value of a setting, by its dotted name.
func (s *Settings) Get(name string) View {
	if value, ok := s.changed[name]; ok {
		return ViewOf(value)
	}
	if v := s.current.Get(name); v.Exists() {
		return v
	}
	v := s.current
	for _, part := range strings.Split(name, ".") {
		v = v.Get(part)
	}
	return v
}

// Set changes a setting, by its dotted name. Durations become seconds, also in a list of them.
func (s *Settings) Set(name string, value any) {
	if s.changed == nil {
		s.changed = Map{}
	}
	switch given := value.(type) {
	case time.Duration:
		value = given.Seconds()
	case []time.Duration:
		list := make([]float64, len(given))
		for i, d := range given {
			list[i] = d.Seconds()
		}
		value = list
	}
	s.changed[name] = value
}

func (s *Settings) wire() (map[string]abi.Raw, error) {
	var out map[string]abi.Raw
	for name, value := range s.changed {
		text, err := Encode(value)
		if err != nil {
			return nil, PermanentFrom(err, "setting "+name)
		}
		if out == nil {
			out = map[string]abi.Raw{}
		}
		out[name] = text
	}
	return out, nil
}
