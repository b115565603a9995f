package processing

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/watching"
	"github.com/kopf-wasm/kopf/stores"
)

// longestSleep is the maximum wait for delayed handlers. The object is then touched, so
// that the logs show that it is not forgotten.
const longestSleep = 10 * time.Minute

// waiting is what the operator keeps of an object that waits for delayed handlers, between two cycles. Thousands of objects can wait, such as
// for something outside of the cluster that is broken, so it shares no memory with their bodies.
type waiting struct {
	p      *Processor
	memory *memory
	log    loggers.Logger // of a cycle, for itself
	meta   watching.Meta
	touch  *patching.Patch // makes an event of the object after the wait
	over   func()          // ends what was counted for the wait
}

// waitingCost is what the operator keeps of an object that waits, in bytes.
const waitingCost = 2 << 10

// postpone lets the object wait when the cycle has ended, and touches it after the wait.
func (c *cycle) postpone(delay time.Duration) error {
	capped := min(delay, longestSleep)
	if capped < delay {
		c.aside().Debug(fmt.Sprintf("Sleeping for %v (capped %v) seconds for the delayed handlers.", delay.Seconds(), longestSleep.Seconds()))
	} else {
		c.aside().Debug(fmt.Sprintf("Sleeping for %v seconds for the delayed handlers.", delay.Seconds()))
	}
	touch, err := c.touch(unset)
	if err != nil {
		return err
	}
	counted, held := c.p.Generation.Services.Tally.Delay(), c.p.Memories.occupy(waitingCost)
	w := &waiting{
		p: c.p, memory: c.memory, log: c.aside().Apart(), touch: touch,
		meta: watching.Meta{
			Namespace: strings.Clone(dicts.LookupString(c.Body, "metadata", "namespace")), Name: strings.Clone(dicts.LookupString(c.Body, "metadata", "name")),
			UID: strings.Clone(c.it.Meta.UID), ResourceVersion: strings.Clone(dicts.LookupString(c.Body, "metadata", "resourceVersion")),
		},
		over: func() { counted(); held() },
	}
	c.waits = true
	c.queue.Postpone(capped, queueing.Retrying, w.end)
	return nil
}

// end ends the wait. After a whole one, it touches the object; otherwise an event of the object follows, or the exit of the operator.
func (w *waiting) end(ctx context.Context, left time.Duration, q *queueing.Queue) (version string) {
	w.over()
	if left > 0 {
		w.log.Debug(fmt.Sprintf("Sleeping was interrupted by new changes, %v seconds left.", left.Seconds()))
		return ""
	}
	c := &cycle{p: w.p, it: queueing.Item{Event: watching.Event{Meta: w.meta}}, queue: q, memory: w.memory}
	c.Object = &handling.Object{Services: w.p.Generation.Services, Resource: &w.p.Resource, Log: w.log, Body: dicts.Object{"metadata": dicts.Object{
		"namespace": w.meta.Namespace, "name": w.meta.Name, "uid": w.meta.UID, "resourceVersion": w.meta.ResourceVersion,
	}}}
	set(w.touch.Merge.Object(), stores.FormatTime(time.Now()))
	done, err := w.p.Writer.Write(ctx, c.Target(), w.touch, q.Hooks(ctx))
	if done.Gone {
		w.p.Completion.Done(w.meta.Key())
	}
	_ = c.settled(ctx, err)
	return done.Version
}

// unset is in the place of the time in a patch that touches an object later. The time must be that of the patch: the object may have any
// other one already, and then no event would follow.
const unset = "when the wait is over"

// set replaces the texts that are unset.
func set(merge dicts.Object, text string) {
	for key, value := range merge {
		switch value := value.(type) {
		case dicts.Object:
			set(value, text)
		case string:
			if value == unset {
				merge[key] = text
			}
		}
	}
}
