//go:build figures

package host

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"
)

// Where the engine of scripts and its operator are, from here.
const (
	engineFile = "../bin/engines/javascript.wasm"
	scriptFile = "../test/bench/guest/operator.js"
)

// scriptFigures: the same for a script, whose engine is compiled once for all of them.
func scriptFigures(t *testing.T, f *figures, _ map[string][]byte) {
	engine, err := os.ReadFile(engineFile)
	if errors.Is(err, os.ErrNotExist) {
		t.Log("SKIPPED: no engine of scripts: `make engines` builds it, or says what is missing")
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(scriptFile)
	if err != nil {
		t.Fatal(err)
	}
	configured := func(o Options) Options {
		o.Config = map[string]string{"KOPF_SCRIPT": string(script), "KOPF_SCRIPT_NAME": "operator.js"}
		return o
	}
	f.add("script: size of its engine", "KiB", 0, float64(len(engine))/1024)
	fresh := loaded(t, "script", engine, configured(Options{NoClones: true}))
	cloned := loaded(t, "script", engine, configured(Options{}))
	for range *figureRounds {
		dir := t.TempDir() // a new one each time
		for _, state := range []string{"cold", "warm"} {
			start := time.Now()
			m, err := Load(t.Context(), "script", engine, configured(Options{CacheDir: dir}))
			if err != nil {
				t.Fatal(err)
			}
			f.add("script: load, "+state, "ms", 0, micros(time.Since(start))/1e3)
			m.Close(t.Context())
		}
		f.add("script: instance from the beginning", "µs", 0, instanceTime(t, fresh, 20))
		f.add("script: instance as a clone", "µs", 0, instanceTime(t, cloned, 100))
		for _, size := range []int{300, 1000, 10_000} {
			p50, p99 := callTime(t, cloned, object(size), 400)
			what := fmt.Sprintf("script: call, body of %g KB, prepared", float64(size)/1000)
			f.add(what+", p50", "µs", 0, p50)
			f.add(what+", p99", "µs", 0, p99)
		}
		f.add("script: memory of each of 100 instances after 20 calls", "KiB", 0, instanceMemory(t, engine, configured(Options{}), 100))
	}
}
