package host

import (
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/linear"
)

// startup is the invocation of a startup handler.
func startup(what string) *abi.Invocation {
	inv := invoke(what)
	inv.Kind = abi.KindStartup
	return inv
}

// counted calls a handler that counts the calls in its instance, and returns the task.
func counted(t *testing.T, m *Module, inv *abi.Invocation, want string) *Task {
	t.Helper()
	task, step, err := m.Start(t.Context(), inv, nil, &testEnv{})
	if err != nil || string(step.Result) != want {
		t.Fatalf("want %s: %+v, error %v", want, step, err)
	}
	return task
}

// TestStartupHandlersPrepareAllInstances: in Kopf, all handlers see the variables that startup handlers have assigned. Many operators
// make their clients and locks so.
func TestStartupHandlersPrepareAllInstances(t *testing.T) {
	if !linear.Supported {
		t.Skip("no images on this system")
	}
	m := loadGo(t, Options{})
	early := counted(t, m, invoke("count"), "1") // such as a selector that is a function, or the former handlers during a replacement
	counted(t, m, invoke("count"), "1").Release(t.Context())
	counted(t, m, startup("count"), "1").Release(t.Context())
	counted(t, m, invoke("count"), "2").Release(t.Context()) // the idle one: that of startup handlers is not used by others
	counted(t, m, startup("count"), "2").Release(t.Context())
	if err := m.Keep(true); err != nil {
		t.Fatal(err)
	}
	early.Release(t.Context()) // it does not come back: it is as before the startup handlers
	if got := m.Usage(); got.Living != 0 {
		t.Errorf("instances of before are left: %+v", got)
	}
	for range 3 {
		defer counted(t, m, invoke("count"), "3").Release(t.Context())
	}
	// A replacement keeps modules that have not changed, and calls their startup handlers again.
	counted(t, m, startup("count"), "3").Release(t.Context())
	if err := m.Keep(false); err != nil {
		t.Fatal(err)
	}
	defer counted(t, m, invoke("count"), "3").Release(t.Context())
	counted(t, m, startup("count"), "3").Release(t.Context())
	if err := m.Keep(true); err != nil {
		t.Fatal(err)
	}
	defer counted(t, m, invoke("count"), "4").Release(t.Context())
	if err := m.Keep(true); err != nil { // without startup handlers
		t.Fatal(err)
	}
}

// TestStartupHandlersOfScripts: their operators come from Kopf, where one process has all variables.
func TestStartupHandlersOfScripts(t *testing.T) {
	t.Parallel()
	if !linear.Supported {
		t.Skip("no images on this system")
	}
	for language, script := range map[string]string{
		"javascript": "let client; let calls = 0;\nkopf.on.startup(function setup() { client = { name: 'made' }; });\n" +
			"kopf.on.create('kopfexamples', function create() { return `${client.name} ${++calls}`; });",
		"python": "import asyncio, kopf, threading\ncalls = 0\n@kopf.on.startup()\nasync def setup(memo, **_):\n  global client, lock\n  client, lock, memo.guard = 'made', asyncio.Lock(), threading.Lock()\n" +
			"@kopf.on.create('kopfexamples')\nasync def create(memo, **_):\n  global calls\n  with memo.guard:\n    async with lock: calls += 1\n  return f'{client} {calls}'",
	} {
		t.Run(language, func(t *testing.T) {
			m := loaded(t, "script", engineOf(t, language), Options{Config: map[string]string{"KOPF_SCRIPT": script, "KOPF_SCRIPT_NAME": "script"}})
			inv := &abi.Invocation{Kind: abi.KindStartup, ID: "setup", Activity: "startup", Settings: abi.Raw("{}")}
			task, step, err := m.Start(t.Context(), inv, nil, &testEnv{})
			if err != nil || step.Error != nil {
				t.Fatal(err, step)
			}
			task.Release(t.Context())
			if err := m.Keep(true); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				inv := &abi.Invocation{Kind: abi.KindCreate, ID: "create", Handler: 1, Name: "obj1"}
				task, step, err := m.Start(t.Context(), inv, []byte(`{"metadata":{},"spec":{}}`), &testEnv{})
				if err != nil || string(step.Result) != `"made 1"` {
					t.Fatalf("%+v, %+v, error %v", step, step.Error, err)
				}
				defer task.Release(t.Context())
			}
		})
	}
}

// TestLostStartupsAreNotKept: a startup handler that has destroyed its instance begins again in another one.
func TestLostStartupsAreNotKept(t *testing.T) {
	m := loadGo(t, Options{})
	counted(t, m, startup("count"), "1").Release(t.Context())
	if _, _, err := m.Start(t.Context(), startup("panic"), nil, &testEnv{}); err == nil {
		t.Fatal("no error")
	}
	counted(t, m, startup("count"), "1").Release(t.Context())
	if err := m.Keep(true); err != nil {
		t.Fatal(err)
	}
	counted(t, m, invoke("count"), "2").Release(t.Context())
}

// TestStartupsWithoutClones: the instance of startup handlers is used for the next calls, and others begin from the beginning. It takes
// the place of an idle one, if only one is kept, as with one processor.
func TestStartupsWithoutClones(t *testing.T) {
	m := loadGo(t, Options{NoClones: true, MaxIdle: 1})
	counted(t, m, startup("count"), "1").Release(t.Context())
	if err := m.Keep(true); err != nil {
		t.Fatal(err)
	}
	defer counted(t, m, invoke("count"), "2").Release(t.Context())
}

// TestExactCallsKeepNothing: a recording lets each call begin with the state after the registration.
func TestExactCallsKeepNothing(t *testing.T) {
	m := loadGo(t, Options{RetireCalls: 1})
	counted(t, m, startup("count"), "1").Release(t.Context())
	if err := m.Keep(true); err != nil {
		t.Fatal(err)
	}
	defer counted(t, m, invoke("count"), "1").Release(t.Context())
}
