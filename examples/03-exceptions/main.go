// Command 03-exceptions shows what follows an error: this depends on its type, and on the
// options of the handler.
package main

import (
	"errors"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.OnCreate("kopfexamples", givesUp, kopf.ID("gives_up"))
	kopf.OnCreate("kopfexamples", succeedsLate, kopf.ID("succeeds_late"))
	kopf.OnCreate("kopfexamples", failsLate, kopf.ID("fails_late"), kopf.Retries(3), kopf.Backoff(time.Second))
	kopf.OnCreate("kopfexamples", fails, kopf.ID("fails_at_once"), kopf.Errors(kopf.ErrorsPermanent))
	kopf.OnCreate("kopfexamples", fails, kopf.ID("is_ignored"), kopf.Errors(kopf.ErrorsIgnored))
}

// errPaper is an error of the operator itself, which the host does not know.
var errPaper = errors.New("out of paper")

func givesUp(*kopf.Change) (any, error) { return nil, kopf.Permanent("this can never work") }

func succeedsLate(c *kopf.Change) (any, error) {
	c.Patch.Status.Set("attempts", c.Retry+1) // patches are applied after errors, too
	if c.Retry < 2 {
		return nil, kopf.Temporary("not yet", kopf.Delay(time.Second))
	}
	return "done", nil
}

// failsLate is called again after one second, three times in all.
func failsLate(c *kopf.Change) (any, error) {
	c.Patch.Status.Set("failures", c.Retry+1)
	return nil, errPaper
}

func fails(*kopf.Change) (any, error) { return nil, errPaper }

func main() {}
