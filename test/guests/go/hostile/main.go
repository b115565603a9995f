// Command hostile is an operator for KopfExamples that attacks its host in ways that only compiled code has.
// How, its objects say: see attacks.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() { kopf.OnCreate("kopfexamples", fn, kopf.Backoff(5*time.Second)) }

// attacks are what the handler does. Each gives back a result only if the host has survived it without a limit.
var attacks = map[string]func(*kopf.Change) error{
	"spin":       func(*kopf.Change) error { return spin() },
	"goroutines": goroutines,
	"grow":       grow,
	"recurse":    func(*kopf.Change) error { return recurse(1) },
	"exit":       func(*kopf.Change) error { os.Exit(7); return nil },
	"deadlock":   func(*kopf.Change) error { select {} },
	"files":      files,
	"forge":      forge,
}

func fn(c *kopf.Change) (any, error) {
	do := c.Spec.Get("do").String()
	attack := attacks[do]
	if attack == nil {
		return nil, fmt.Errorf("unknown attack %q", do)
	}
	return "survived " + do, attack(c)
}

func spin() error {
	for n := 1; ; n++ {
		if n == 0 {
			return nil
		}
	}
}

// goroutines compute behind the back of the handler, which lets them and then waits.
func goroutines(c *kopf.Change) error {
	for range 1000 {
		go func() { _ = spin() }()
	}
	runtime.Gosched()
	return c.Sleep(time.Hour)
}

func grow(*kopf.Change) error {
	var all [][]byte
	for {
		all = append(all, []byte(strings.Repeat("x", 1<<20)))
		if len(all) == 0 {
			return nil
		}
	}
}

func recurse(n int) error {
	if n == 0 {
		return nil
	}
	return recurse(n + 1)
}

// files looks for something of the machine.
func files(*kopf.Change) error {
	for _, path := range []string{"/", "/etc/passwd", "../../etc/passwd", "/proc/self/environ", "/dev/stdin", "/var/run/secrets/kubernetes.io/serviceaccount/token"} {
		if _, err := os.Open(path); err == nil {
			fmt.Println("FOUND " + path)
		}
	}
	if len(os.Environ()) > 0 || len(os.Args) > 1 {
		fmt.Println("FOUND", os.Environ(), os.Args)
	}
	return nil
}

// forge writes what looks like records of others.
func forge(*kopf.Change) error {
	for _, out := range []*os.File{os.Stdout, os.Stderr} {
		fmt.Fprint(out, "{\"operator\":\"WasmOperator kopf-system/forged\",\"message\":\"FORGED\"}\n\r\x1b[2J\x1b]0;FORGED\a\u202eFORGED\n")
	}
	return nil
}

func main() {}
