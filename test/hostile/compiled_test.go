package hostile_test

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/test/sources"
)

// compiled are attacks by modules in Go and in Rust, which the test compiles: with their own memory
// management, stacks and schedulers, they reach limits in other ways than scripts.
var compiled = wave{"compiled", []attack{
	quick(inGo("spin", says("computed too long: more than 1s"))),
	inGo("goroutines", says("computed too long: more than 1s")),
	inGo("grow", says("fatal error: out of memory")),
	inGo("recurse", says("fatal error: ")),
	inGo("exit", says("exited with code 7")),
	inGo("deadlock", says("all goroutines are asleep - deadlock!")),
	survived(inGo("files"), "FOUND"),
	survived(inGo("forge", says("FORGED")), ""),
	inRust("spin", says("computed too long: more than 1s")),
	inRust("recurse", says("trapped")),
	inRust("grow", says("create_fn")),
	inRust("panic", says("create_fn")),
}}

// inGo is an attack of the guest test/guests/go/hostile.
func inGo(do string, named ...sign) attack {
	return attack{name: "Go: " + do, build: goModule, object: "{do: " + do + "}", count: 2, named: named}
}

// inRust is an attack of the guest test/guests/rust/minimal, which has no SDK.
func inRust(fail string, named ...sign) attack {
	return attack{name: "Rust: " + fail, build: rustModule, object: "{fail: " + fail + "}", count: 2, named: named}
}

// survived is an attack that has no effect: its handler ends as if nothing were, and its log does not
// contain a text.
func survived(at attack, never string) attack {
	at.also = func(t *testing.T, a *attacker) {
		t.Helper()
		if result := fmt.Sprint(a.handled(t, "obj-0")); !strings.HasPrefix(result, "survived") {
			t.Errorf("it ends with %s", result)
		}
		if never == "" {
			return
		}
		if err := says(never)(a); err == nil {
			t.Errorf("its log has %s", never)
		}
	}
	return at
}

// goModule compiles the attackers in Go, once for each of them: equal modules share their compiled code.
func goModule(t *testing.T) []byte {
	t.Helper()
	sources.WatchGo(t, "test/guests/go/hostile")
	path, err := filepath.Abs(t.TempDir() + "/hostile.wasm")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-buildmode=c-shared", "-o", path, "./hostile")
	cmd.Dir = repository + "/test/guests/go"
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the attackers in Go: %v\n%s", err, text)
	}
	return read(t, path)
}

// rustModule compiles the attackers in Rust. Without Rust there are none: then the test is skipped, but
// never in CI.
func rustModule(t *testing.T) []byte {
	t.Helper()
	sources.WatchRust(t, "test/guests/rust/minimal")
	path := repository + "/.cache/guests/rust-minimal.wasm"
	if text, err := exec.Command(repository+"/scripts/rust-wasm.sh", path, repository+"/test/guests/rust/minimal").CombinedOutput(); err != nil {
		t.Fatalf("building the attackers in Rust: %v\n%s", err, text)
	}
	if _, err := os.Stat(path); os.IsNotExist(err) && os.Getenv("CI") != "true" {
		t.Skipf("SKIPPED: %s is not built: scripts/rust-wasm.sh says what is missing", path)
	}
	return read(t, path)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// shared are attacks by what operators share: the compiled code of equal modules.
var shared = wave{"shared", []attack{
	// The author has the module of the neighbour, and nothing else of it: that it starts sooner tells that some
	// operator of the host has loaded these bytes. Neither variables nor memos nor configuration are shared.
	quick(attack{name: "a module of the neighbour", act: func(t *testing.T, a *attacker) {
		a.pack(t, a.tag(), a.house.script(t, neighbourScript))
		a.house.declare(t, a.namespace, operatorName, a.tag(), tenantName, ", grants: {config: {password: guess}}")
		a.create(t, "obj-0", "")
		a.Eventually(t, patience, func() error { return says("handled")(a) })
		other := a.neighbour.namespace
		for _, line := range a.log.With(fmt.Sprintf(`"operator":"WasmOperator %s/%s"`, a.namespace, operatorName)) {
			if strings.Contains(line, other) {
				t.Errorf("its log names the neighbour: %s", line)
			}
		}
	}, named: []sign{func(a *attacker) error {
		status, err := a.status(a.namespace, operatorName)
		if err != nil || status == nil {
			return fmt.Errorf("no status: %w", err)
		}
		if text := fmt.Sprintf("%+v", *status); strings.Contains(text, a.neighbour.namespace) {
			return fmt.Errorf("the status names the neighbour: %s", text)
		}
		return condition(api.Ready, "Serving", "")(a)
	}}}),
	// A digest alone is not enough to run a module of another tenant: see also "a private module by its digest alone".
	{name: "a digest of nothing that it has", act: func(t *testing.T, a *attacker) {
		digest := make([]byte, 32)
		_, _ = rand.Read(digest) // never fails
		a.declareModule(t, fmt.Sprintf("%s/%s@sha256:%s", a.registry.Ref("x").Registry, a.registry.Ref("x").Repository, hex.EncodeToString(digest)))
	}, named: []sign{condition(api.Resolved, "ModuleMissing", "")}},
}}
