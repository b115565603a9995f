package reactor

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/test/porttest"
)

// patient is a guest whose login handler waits for an hour.
type patient struct{ watchful }

func (*patient) Registration() *abi.Registration {
	return &abi.Registration{Handlers: []abi.Handler{{Kind: abi.KindLogin, ID: "login_fn"}, {Kind: abi.KindProbe, ID: "probe_fn"}}}
}

func (*patient) Start(_ context.Context, inv *abi.Invocation, _ []byte, _ guests.Env) (guests.Task, *abi.Step, error) {
	if inv.Kind == abi.KindProbe {
		return watchfulTask{}, &abi.Step{Step: abi.StepDone, Outcome: abi.Outcome{Result: abi.Raw(`"fine"`)}}, nil
	}
	return watchfulTask{}, &abi.Step{Step: abi.StepWait, Seconds: new(3600.0)}, nil
}

// TestLivenessDuringTheLogin: Kubernetes would restart the pod of an operator whose login takes long.
func TestLivenessDuringTheLogin(t *testing.T) {
	endpoint := "http://" + porttest.Unused(t) + "/healthz"
	registry, err := registries.New(&patient{})
	if err != nil {
		t.Fatal(err)
	}
	op, err := New(Options{Registry: registry, Liveness: endpoint, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- op.Run(ctx) }() // It is waited for below.
	var answer []byte
	for begin := time.Now(); answer == nil && time.Since(begin) < time.Minute; time.Sleep(10 * time.Millisecond) {
		rsp, err := http.Get(endpoint) //nolint:noctx // it is answered at once, or refused
		if err != nil {
			continue
		}
		if answer, err = io.ReadAll(rsp.Body); err != nil {
			t.Error(err)
		}
		_ = rsp.Body.Close() // it has been read
	}
	if got, want := string(answer), `{"probe_fn":"fine"}`+"\n"; got != want {
		t.Errorf("the answer is %q, want %q", got, want)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
