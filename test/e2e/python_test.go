package e2e_test

import (
	"path/filepath"
	"testing"

	"github.com/kopf-wasm/kopf/operator"
)

// pythonEngine builds the engine of Python.
func pythonEngine(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(madeOf(t, "bin/engines/python.wasm", "python-engine.sh", "engines/python"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// byPython runs the script with the engine. Packages take seconds to import on a quiet machine,
// and much longer on a busy one.
func byPython(o options, engine, script string) options {
	o.host.ComputeLimit, o.host.RegisterTimeout = 4*patience, 4*patience
	o.module, o.change = script, func(o *operator.Options) { o.Engine = engine }
	return o
}

// pythonCaller is the guest caller in Python.
func pythonCaller(o options, engine string) options {
	config := map[string]string{}
	for key, value := range o.config {
		config[key] = value
	}
	o.config = config
	return byPython(o, engine, repository+"/test/guests/python/caller/caller.py")
}
