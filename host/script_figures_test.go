//go:build figures

package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
)

// scriptGoals are the goals of the figures of a script; 0: there is none.
type scriptGoals struct {
	warm, clone, call, idle, sleeping float64
}

// languages of scripts: the engine, the operator, the goals.
var languages = []struct {
	name, engine, operator string
	goals                  scriptGoals
}{
	{"script", "../bin/engines/javascript.wasm", "../test/bench/guest/operator.js", scriptGoals{}},
	{"python", "../bin/engines/python.wasm", "../test/bench/guest/operator.py", scriptGoals{warm: 400, clone: 3000, call: 300, idle: 1536, sleeping: 15}},
}

// scriptFigures: the figures of scripts. An engine is compiled once for all scripts of a
// language.
func scriptFigures(t *testing.T, f *figures, _ map[string][]byte) {
	for _, l := range languages {
		engine, err := os.ReadFile(l.engine)
		if errors.Is(err, os.ErrNotExist) {
			t.Logf("SKIPPED: no engine of %s: `make engines` builds it, or says what is missing", l.name)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		script, err := os.ReadFile(l.operator)
		if err != nil {
			t.Fatal(err)
		}
		figuresOfScript(t, f, l.name, engine, l.goals, func(o Options) Options {
			o.Config = map[string]string{"KOPF_SCRIPT": string(script), "KOPF_SCRIPT_NAME": filepath.Base(l.operator)}
			return o
		})
	}
}

func figuresOfScript(t *testing.T, f *figures, name string, engine []byte, goals scriptGoals, configured func(Options) Options) {
	t.Helper()
	f.add(name+": size of its engine", "KiB", 0, float64(len(engine))/1024)
	fresh := loaded(t, name, engine, configured(Options{NoClones: true}))
	cloned := loaded(t, name, engine, configured(Options{}))
	once := loaded(t, name, engine, configured(Options{RetireCalls: 1}))
	for range *figureRounds {
		dir := t.TempDir() // a new one each time
		for _, state := range []string{"cold", "warm"} {
			start := time.Now()
			m, err := Load(t.Context(), name, engine, configured(Options{CacheDir: dir}))
			if err != nil {
				t.Fatal(err)
			}
			f.add(name+": load, "+state, "ms", map[string]float64{"warm": goals.warm}[state], micros(time.Since(start))/1e3)
			m.Close(t.Context())
		}
		f.add(name+": instance from the beginning", "µs", 0, instanceTime(t, fresh, 20))
		f.add(name+": instance as a clone", "µs", 0, instanceTime(t, cloned, 100))
		first, _ := callTime(t, once, object(1000), 50)
		f.add(name+": call after an idle time, with its new instance, body of 1 KB", "µs", goals.clone, first)
		for _, size := range []int{300, 1000, 10_000} {
			goal := 0.0
			if size == 1000 {
				goal = goals.call
			}
			p50, p99 := callTime(t, cloned, object(size), 400)
			what := fmt.Sprintf("%s: call, body of %g KB, prepared", name, float64(size)/1000)
			f.add(what+", p50", "µs", goal, p50)
			f.add(what+", p99", "µs", 0, p99)
		}
		f.add(name+": memory of each of 100 instances after 20 calls", "KiB", goals.idle, instanceMemory(t, engine, configured(Options{}), 100))
		if goals.sleeping > 0 {
			f.add(name+": memory of each of 1,000 daemons that sleep", "KiB", goals.sleeping, sleepingMemory(t, engine, configured(Options{}), 1000))
		}
	}
}

// sleepingMemory is the memory of a daemon that waits among others of its instance, in KiB.
func sleepingMemory(t *testing.T, engine []byte, o Options, count int) float64 {
	t.Helper()
	m := loaded(t, "guest", engine, o)
	daemon := &abi.Invocation{Handler: 2, Kind: abi.KindDaemon, ID: "sleeper", Name: "obj1"}
	tasks := make([]*Task, 0, count+1)
	start := func() {
		task, step, err := m.Start(t.Context(), daemon, object(1000), &testEnv{})
		if err != nil || step.Step != abi.StepWait {
			t.Fatalf("%+v, %v", step, err)
		}
		tasks = append(tasks, task)
	}
	start() // the instance is made
	before := proportional(t)
	for range count {
		start()
	}
	after := proportional(t)
	for _, task := range tasks {
		task.Release(t.Context())
	}
	return float64(after-before) / float64(count)
}

// TestFiguresOfScripts prints the figures of scripts alone.
func TestFiguresOfScripts(t *testing.T) {
	f := &figures{}
	scriptFigures(t, f, nil)
	fmt.Printf("%d processors, medians of %d rounds\n\n%s", runtime.GOMAXPROCS(0), *figureRounds, f)
}
