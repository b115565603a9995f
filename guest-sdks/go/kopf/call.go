package kopf

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// Call is what every handler gets, whatever it is for. Arguments of handlers
// embed it.
//
// See https://docs.kopf.dev/en/latest/kwargs/
type Call struct {
	ID      string        // of the handler, in full: fn, fn/spec.field, parent/child
	Param   View          // of the registration; see Param
	Retry   int           // 0 at the first attempt
	Runtime time.Duration // since the first attempt

	Log  Logger
	Memo Memo // of the object; of the operator where there is no object

	task *guest.Task
}

func newCall(t *guest.Task) Call {
	c := Call{
		ID:      t.Call.ID,
		Retry:   t.Call.Retry,
		Runtime: seconds(t.Call.Runtime),
		Log:     Logger{t},
		Memo:    Memo{task: t, scope: memoScope(t)},
		task:    t,
	}
	if t.Call.Param != nil {
		c.Param = View{&node{raw: t.Call.Param, key: "param"}}
	}
	return c
}

// Started is the time of the first attempt.
func (c *Call) Started() time.Time {
	t, err := time.Parse(time.RFC3339Nano, c.task.Call.Started)
	if err != nil { // activities of a host that does not say
		return time.Time{}
	}
	return t.UTC()
}

// Context ends when the handler is cancelled: a daemon some time after it was asked to stop (see
// CancellationBackoff), any other handler when the operator ends. It is for functions that take a
// context: Sleep, Fetch and NewAPI, which also end at its deadline.
func (c *Call) Context() context.Context { return c.task.Context() }

// Sleep lets time pass, and the host do other work meanwhile. The error is that
// of the context if the handler is cancelled: clean up and return then.
func (c *Call) Sleep(d time.Duration) error { return sleep(c.task, d) }

// Sleep is Call.Sleep for functions that get the context of a handler, or one that is derived from
// it. It ends at the deadline of the context, too. Without the context of a handler it waits as
// time.Sleep does. Errors: that of the context.
func Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t := guest.FromContext(ctx); t != nil {
		return sleepUntil(ctx, t, d)
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

// sleepUntil waits until the time is over, or the deadline of the context.
func sleepUntil(ctx context.Context, t *guest.Task, d time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d {
		if err := sleep(t, time.Until(deadline)); err != nil {
			return err
		}
		return context.DeadlineExceeded
	}
	if err := sleep(t, d); err != nil {
		return err
	}
	return ctx.Err()
}

// sleep waits until the time is over.
func sleep(t *guest.Task, d time.Duration) error {
	waitFor(t, d, false)
	if t.Cancelled {
		return context.Canceled
	}
	return nil
}

// waitFor lets the time pass; a stoppable wait ends when the host asks the daemon to stop.
func waitFor(t *guest.Task, d time.Duration, stoppable bool) abi.Answer {
	s := max(d, 0).Seconds()
	return t.Ask(&abi.Step{Step: abi.StepWait, Seconds: &s, Stoppable: stoppable})
}

// Rand is a source of random numbers for this call, seeded by the host. The
// functions of math/rand give equal numbers in all instances of the module.
func (c *Call) Rand() *rand.Rand {
	var seed [32]byte
	if err := c.task.Host.Random(seed[:]); err != nil {
		c.Log.Warn("no random numbers from the host", "error", err)
	}
	return rand.New(rand.NewChaCha8(seed))
}

// Index is an index of the operator, by the id of its handler.
func (c *Call) Index(id string) Index { return Index{task: c.task, name: id} }

// OperatorMemo is the memo that all handlers of the operator share.
func (c *Call) OperatorMemo() Memo { return Memo{task: c.task, scope: guest.ScopeOperator} }

// seconds is a number of seconds as a duration.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
