package kopf

import (
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// declaration is a handler while it is declared.
type declaration struct {
	abi.Handler
	callbacks guest.Callbacks
	err       error // the first one
}

func (d *declaration) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// Join makes one option of several, in their order: to share them between handlers, or to
// choose them when the program runs. No options make one that changes nothing.
//
//	var patient = kopf.Join(kopf.Retries(10), kopf.Backoff(time.Minute))
//
// It fits where all of the options fit by their common type. For options of several types, name
// the type: kopf.Join[kopf.CreateOption](kopf.Retries(3), kopf.Label("app", "web")).
func Join[O option](opts ...O) O {
	joined := setter(func(d *declaration) {
		for _, opt := range opts {
			d.set(opt)
		}
	})
	return any(joined).(O)
}

// ID is the id of the handler: in logs, in results, and in the progress that is
// kept on the object. By default it is the name of the function, which must be a
// top-level one then. Handlers with the ids they had in Python take over their progress.
func ID(id string) Option { return setter(func(d *declaration) { d.ID = id }) }

// Identity says that registrations with equal identities are of one function: of
// those with equal ids, one is called per cause. Top-level functions have their
// name as the identity, others have none.
func Identity(name string) Option { return setter(func(d *declaration) { d.Fn = name }) }

// Param is a value that is passed back to the handler as Call.Param. It tells
// several registrations of one function apart.
func Param(value any) Option {
	return setter(func(d *declaration) {
		text, err := Encode(value)
		if err != nil {
			d.fail(err)
		}
		d.Handler.Param = text
	})
}

// ErrorsMode says what an error means that is neither temporary nor permanent.
type ErrorsMode string

// Modes of errors. By default, events and indices have ErrorsIgnored, admission has
// ErrorsPermanent, all others have ErrorsTemporary.
const (
	ErrorsTemporary ErrorsMode = "TEMPORARY" // it is retried after the backoff
	ErrorsPermanent ErrorsMode = "PERMANENT" // the handler fails
	ErrorsIgnored   ErrorsMode = "IGNORED"   // the handler counts as done
)

// Errors chooses the meaning of errors that are neither temporary nor permanent.
func Errors(mode ErrorsMode) AttemptOption {
	return setter(func(d *declaration) { d.Errors = string(mode) })
}

// Timeout is the time since the first attempt after which the handler fails. It is
// looked at between attempts: no attempt is interrupted. None by default.
func Timeout(t time.Duration) AttemptOption {
	return setter(func(d *declaration) { d.Timeout = secondsOf(t) })
}

// Retries is the number of attempts, the first one included, after which the
// handler fails. No limit by default.
func Retries(n int) AttemptOption { return setter(func(d *declaration) { d.Retries = &n }) }

// Backoff is the time until the next attempt after an arbitrary error: 60 seconds by default.
func Backoff(t time.Duration) AttemptOption {
	return setter(func(d *declaration) { d.Backoff = secondsOf(t) })
}

// Optional makes a deletion handler optional: it puts no finalizer on the object,
// so it may miss the deletion.
func Optional() DeleteOption { return setter(func(d *declaration) { d.Optional = true }) }

// Deleted makes a resume handler run also for objects that are being deleted.
func Deleted() ResumeOption { return setter(func(d *declaration) { d.Deleted = true }) }

// Interval is the time between two calls of a timer.
func Interval(t time.Duration) TimerOption {
	return setter(func(d *declaration) { d.Interval = secondsOf(t) })
}

// Sharp counts the interval of a timer from the beginning of a call, not from its end.
func Sharp() TimerOption { return setter(func(d *declaration) { d.Sharp = true }) }

// Idle is the time without changes of the object before a timer is called.
func Idle(t time.Duration) TimerOption { return setter(func(d *declaration) { d.Idle = secondsOf(t) }) }

// InitialDelay is the time before the first call of a timer or a daemon.
func InitialDelay(t time.Duration) DelayOption {
	return setter(func(d *declaration) { d.InitialDelay, _ = Encode(t.Seconds()) })
}

// InitialDelayFunc is InitialDelay that depends on the object.
func InitialDelayFunc(fn func(c *Cause) time.Duration) DelayOption {
	return setter(func(d *declaration) {
		d.InitialDelay = abi.Raw(abi.Function)
		d.callback("initial_delay", "", func(t *guest.Task, value abi.Value) (any, error) {
			return fn(newCause(t, value)).Seconds(), nil
		})
	})
}

// CancellationBackoff is the time between telling a daemon to stop and cancelling it.
func CancellationBackoff(t time.Duration) DaemonOption {
	return setter(func(d *declaration) { d.CancellationBackoff = secondsOf(t) })
}

// CancellationTimeout is the time after which a cancelled daemon is abandoned.
func CancellationTimeout(t time.Duration) DaemonOption {
	return setter(func(d *declaration) { d.CancellationTimeout = secondsOf(t) })
}

// CancellationPolling is the time between two looks at a daemon that has no timeout.
func CancellationPolling(t time.Duration) DaemonOption {
	return setter(func(d *declaration) { d.CancellationPolling = secondsOf(t) })
}

// Operations of reviews.
const (
	Creating   = "CREATE"
	Updating   = "UPDATE"
	Deleting   = "DELETE"
	Connecting = "CONNECT"
)

// Operations are the operations that an admission handler reviews; all by default.
func Operations(operations ...string) ReviewOption {
	return setter(func(d *declaration) { d.Operations = operations })
}

// Subresource makes an admission handler review a subresource, or "*" for all.
func Subresource(name string) ReviewOption {
	return setter(func(d *declaration) { d.Subresource = name })
}

// Persistent leaves the webhook of an admission handler behind when the operator ends.
func Persistent() ReviewOption { return setter(func(d *declaration) { d.Persistent = true }) }

// SideEffects says that an admission handler has effects in addition to its answer.
func SideEffects() ReviewOption { return setter(func(d *declaration) { d.SideEffects = true }) }

// IgnoreFailures lets requests through when an admission handler cannot be reached.
func IgnoreFailures() ReviewOption { return setter(func(d *declaration) { d.IgnoreFailures = true }) }

// Field is the field that the handler is about: one path with dots ("spec.size"),
// or its keys one by one, for keys that have dots ("metadata", "labels", "app.example.com/x").
func Field(path ...string) FilterOption {
	if len(path) == 1 {
		path = strings.Split(path[0], ".")
	}
	return setter(func(d *declaration) { d.Handler.Field = path })
}

func secondsOf(t time.Duration) *float64 {
	s := t.Seconds()
	return &s
}
