package main

import (
	"errors"
	"strings"
	"testing"
)

const engine = `package engine

func (c *Compiler) read() {
	for pc := 0; pc < 9; pc++ {
		op := body[pc]
		use(op)
	}
}

func load() (ret int, err error) { return }
`

func TestCallsArePutAtTheirPlaces(t *testing.T) {
	out, err := hooked("engine.go", []byte(engine), []call{
		atHead("", "load", "defer trace(&ret, &err)"),
		inLoop("Compiler", "read", "op := body[pc]", "c.trace()"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"pc++ {\nc.trace()\n\n\t\top := body[pc]", "(ret int, err error) {\ndefer trace(&ret, &err)\n return"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

func TestAnEngineThatHasChangedIsAnError(t *testing.T) {
	for name, c := range map[string]call{
		"no such function": atHead("Compiler", "lower", "c.trace()"),
		"another receiver": atHead("Interpreter", "read", "c.trace()"),
		"another loop":     inLoop("Compiler", "read", "op := c.body[pc]", "c.trace()"),
	} {
		if _, err := hooked("engine.go", []byte(engine), []call{c}); !errors.Is(err, errMoved) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
