// Command living is an operator for KopfExamples with everything that lives
// other than handlers of changes: daemons, timers, indices, memos and activities. The
// configuration chooses what is registered, and what it does:
//
//	handlers  some of: daemon timer index create startup cleanup login probe background
//	do        what the handlers do, unless the objects say it in spec.do
//	options   JSON of options: interval, idle, backoff, timeout, polling in seconds; retries; label
//
// All print a line of JSON for each call, and for each tick of a daemon, to the
// standard output.
package main

import (
	"os"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() { kopf.Setup(register) }

func register() error {
	own := kopf.JSON([]byte(kopf.Config("options")))
	retried := kopf.Backoff(100 * time.Millisecond)
	if retries := own.Get("retries"); retries.Exists() {
		retried = kopf.Join(retried, kopf.Retries(retries.Int()))
	}
	filtered := kopf.Join[kopf.FilterOption]()
	if label := own.Get("label").String(); label != "" {
		filtered = kopf.Label(label, kopf.Present)
	}
	for _, kind := range strings.Fields(kopf.Config("handlers")) {
		switch kind {
		case "daemon":
			kopf.OnDaemon("kopfexamples", daemonFn, retried, filtered, kopf.Join(cancellation(own)...))
		case "timer":
			kopf.OnTimer("kopfexamples", timerFn, retried, filtered, kopf.Join(schedule(own)...))
		case "index":
			kopf.OnIndex("kopfexamples", indexFn, retried, filtered)
		case "create":
			kopf.OnCreate("kopfexamples", createFn, retried, filtered)
		case "startup":
			kopf.OnStartup(startupFn, retried)
		case "cleanup":
			kopf.OnCleanup(cleanupFn, retried)
		case "login":
			kopf.OnLogin(loginFn, retried)
		case "probe":
			kopf.OnProbe(probeFn, retried)
		case "background":
			kopf.OnBackground(backgroundFn, retried)
		}
	}
	return nil
}

func seconds(v kopf.View) time.Duration { return time.Duration(v.Float() * float64(time.Second)) }

func cancellation(own kopf.View) (options []kopf.DaemonOption) {
	if v := own.Get("backoff"); v.Exists() {
		options = append(options, kopf.CancellationBackoff(seconds(v)))
	}
	if v := own.Get("timeout"); v.Exists() {
		options = append(options, kopf.CancellationTimeout(seconds(v)))
	}
	if v := own.Get("polling"); v.Exists() {
		options = append(options, kopf.CancellationPolling(seconds(v)))
	}
	return options
}

func schedule(own kopf.View) (options []kopf.TimerOption) {
	if v := own.Get("interval"); v.Exists() {
		options = append(options, kopf.Interval(seconds(v)))
	}
	if v := own.Get("idle"); v.Exists() {
		options = append(options, kopf.Idle(seconds(v)))
	}
	return options
}

// say prints a line, in one write.
func say(values kopf.Map) {
	line, err := kopf.Encode(values)
	if err != nil {
		panic(err)
	}
	if _, err := os.Stdout.Write(append(line, '\n')); err != nil {
		panic(err)
	}
}

func main() {}
