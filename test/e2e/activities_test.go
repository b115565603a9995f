package e2e_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/test/porttest"
)

// TestBadStartups: the operator does not start, and does not clean up what has not begun.
func TestBadStartups(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	tests := []struct{ do, want string }{
		{"startup fails", "startup: handlers of the kind startup have failed: 'startupFn': Activity 'startupFn' failed with an exception and will stop now"},
		{"startup spins", "computed too long"},
	}
	for _, test := range tests {
		t.Run(test.do, func(t *testing.T) {
			op, _ := s.launch(t, options{
				guest: "living", host: host.Options{ComputeLimit: time.Second},
				config: map[string]string{"handlers": "startup cleanup create", "do": test.do, "options": `{"retries":2}`},
			})
			<-op.ended
			if op.err == nil || !strings.Contains(op.err.Error(), test.want) {
				t.Errorf("it ended with %v, want %q", op.err, test.want)
			}
			if calls := op.lines(`"activity":"startup"`); calls != 2 {
				t.Errorf("%d attempts, want 2", calls)
			}
			if op.lines(`"activity":"cleanup"`) != 0 {
				t.Error("there was a cleanup")
			}
		})
	}
}

// probing runs the guest "living" with probes, and returns the address of its endpoint.
func (s space) probing(t *testing.T, do string) (op *running, url string) {
	t.Helper()
	url = "http://" + porttest.Unused(t) + "/healthz"
	op = s.start(t, options{
		guest: "living", config: map[string]string{"handlers": "probe create", "do": do, "options": `{"retries":1}`},
		change: func(o *operator.Options) { o.Liveness = url },
	})
	return op, url
}

// ask asks an endpoint.
func ask(t *testing.T, url string, timeout time.Duration) (code int, body string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	return askIn(ctx, t, url)
}

func askIn(ctx context.Context, t *testing.T, url string) (code int, body string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	rsp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer rsp.Body.Close()
	text, err := io.ReadAll(rsp.Body)
	return rsp.StatusCode, string(text), err
}

// TestProbes: their results are kept for a while.
func TestProbes(t *testing.T) {
	t.Parallel()
	op, url := newSpace(t).probing(t, "")
	for range 3 {
		code, body, err := ask(t, url, patience)
		var results map[string]any
		if err != nil || code != http.StatusOK || json.Unmarshal([]byte(body), &results) != nil || results["probeFn"] == nil {
			t.Errorf("got %d %q, %v", code, body, err)
		}
	}
	if calls := op.lines(`"activity":"probe"`); calls != 1 {
		t.Errorf("%d calls of the probe, want one", calls)
	}
	if code, _, _ := ask(t, strings.Replace(url, "healthz", "other", 1), patience); code != http.StatusNotFound {
		t.Errorf("another path: %d", code)
	}
}

// TestProbesThatFail are not kept: each time they get another chance.
func TestProbesThatFail(t *testing.T) {
	t.Parallel()
	op, url := newSpace(t).probing(t, "probe fails")
	for range 2 {
		if code, _, err := ask(t, url, patience); err != nil || code != http.StatusInternalServerError {
			t.Errorf("got %d, %v", code, err)
		}
	}
	if calls := op.lines(`"activity":"probe"`); calls != 2 {
		t.Errorf("%d calls of the probe, want two", calls)
	}
}

// TestProbesThatBlock: they delay only the clients that ask, and not the exit.
func TestProbesThatBlock(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op, url := s.probing(t, "probe sleeps")
	runs := func(times int) func() bool {
		return func() bool { return op.lines(`"activity":"probe"`) >= times }
	}
	for times := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() { // Waited for below.
			_, _, err := askIn(ctx, t, url)
			failed <- err
		}()
		op.until(t, "the probe runs", runs(times+1))
		cancel()
		if err := <-failed; err == nil {
			t.Error("a probe that sleeps has answered")
		}
	}
	s.create(t, "obj1", "{}")
	s.handled(t, "obj1")
	asked := make(chan struct{})
	go func() { // Waited for below.
		defer close(asked)
		_, _, _ = ask(t, url, patience) // it is cut off
	}()
	op.until(t, "the probe runs", runs(4))
	began := time.Now()
	op.stop(t)
	<-asked
	if took := time.Since(began); took > prompt {
		t.Errorf("it took %v to stop", took)
	}
}

func TestTakenPortOfLiveness(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	url := "http://" + listener.Addr().String() + "/healthz"
	op, _ := newSpace(t).launch(t, options{change: func(o *operator.Options) { o.Liveness = url }})
	<-op.ended
	if op.err == nil || !strings.Contains(op.err.Error(), `liveness endpoint "`+url+`": listen tcp`) || !strings.Contains(op.err.Error(), "address already in use") {
		t.Errorf("it ended with %v", op.err)
	}
}
