package host

import (
	"context"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// waitingEnv is informed when its task waits.
type waitingEnv struct {
	requestingEnv
	waited chan struct{} // a token for each wait
}

func newWaitingEnv() *waitingEnv { return &waitingEnv{waited: make(chan struct{}, 100)} }

func (e *waitingEnv) Waits() { e.waited <- struct{}{} }

func TestSleepsInHostFunctionsAreWaits(t *testing.T) {
	env := newWaitingEnv()
	result(t, loadGo(t, Options{}), "sleep", env)
	if len(env.waited) == 0 {
		t.Error("the Env was not informed")
	}
	env = newWaitingEnv()
	result(t, loadGo(t, Options{}), "count", env)
	if len(env.waited) != 0 {
		t.Errorf("the Env was informed %d times of a handler that computes", len(env.waited))
	}
}

func TestRequestsOfPluginsAreWaits(t *testing.T) {
	code := asm.Cat(
		block64(`{"url":"https://x/y"}`), asm.Get(0), asm.I64Const(0), asm.Call(fnFirst), asm.Drop,
		outputOf(asm.Done), asm.I32Const(0))
	m := loadPlugin(t, pluginModule(code, env64("http_request", two, one)), time.Minute)
	env := newWaitingEnv()
	task, _, err := m.Start(t.Context(), invoke("x"), []byte(`{}`), env)
	if err != nil {
		t.Fatal(err)
	}
	task.Release(t.Context())
	if len(env.calls) != 1 || len(env.waited) != 1 {
		t.Errorf("%d requests, and the Env was informed %d times", len(env.calls), len(env.waited))
	}
}

func TestWaitingForAnInstanceIsAWait(t *testing.T) {
	m := loadGo(t, Options{MaxInstances: 1})
	first, _, err := m.Start(t.Context(), invoke("wait and sleep"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	env := newWaitingEnv()
	failed := make(chan error, 1)
	go func() { // Waited for below.
		second, _, err := m.Start(context.Background(), invoke("count"), nil, env)
		if err == nil {
			second.Release(context.Background())
		}
		failed <- err
	}()
	<-env.waited
	first.Release(t.Context())
	if err := <-failed; err != nil {
		t.Error(err)
	}
}

// TestWaitsOfCancelledPluginsEnd: a wait of an hour does not tick through the hour without waiting.
func TestWaitsOfCancelledPluginsEnd(t *testing.T) {
	woken := make(chan struct{})
	close(woken)
	c := &call{in: &instance{m: &Module{}}, woken: woken, budget: newBudget(t.Context(), &Options{Share: NewShare(0, 0), ComputeLimit: time.Hour}, time.Now())}
	c.queued = &queue{}
	c.share.Take()
	defer c.share.Leave()
	asked := 0
	waiter{c}.Wait(time.Hour, func() bool { asked++; return false })
	if asked > 2 {
		t.Errorf("it has looked %d times whether the wait is over", asked)
	}
}

// TestLongWaitsOfPluginsAskRarely: thousands of plugins may wait, and what asking takes is in no account.
func TestLongWaitsOfPluginsAskRarely(t *testing.T) {
	asked := map[time.Duration]int{}
	count, waited := 0, time.Duration(0)
	for waited < time.Hour {
		waited += pollAfter(waited)
		count++
		for _, until := range []time.Duration{time.Second, time.Minute, time.Hour} {
			if waited <= until {
				asked[until] = count
			}
		}
	}
	if asked[time.Second] != 10 || asked[time.Minute] > 100 || asked[time.Hour] > 3700 {
		t.Errorf("asked %v times", asked)
	}
}
