package reactor

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/events"
	"github.com/kopf-wasm/kopf/reactor/posting"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
)

// endless are backoffs with endless attempts and no pauses, as a guest may ask for.
const endless = `{"list":[0],"repeatLast":true}`

// An event that a server refuses is not posted again, regardless of the guest's backoffs.
func TestRefusedEventsAreNotRepeated(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 409, 413, 422} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			p := newPoster(t, nil, nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
			event := about(t, "default", "n")
			event.Backoffs = abi.Raw(endless)
			if err := p.Event(event); err != nil {
				t.Error(err)
			}
			p.stop()
			if sent := p.requests(); len(sent) != 1 {
				t.Errorf("%d requests, want 1", len(sent))
			}
		})
	}
}

// A server that is broken or busy is asked again, with pauses and a limit.
func TestAttemptsOfEventsEnd(t *testing.T) {
	for _, tt := range []struct {
		status  int
		headers map[string]string
		backoff string
		want    time.Duration // duration of all attempts
		count   int
	}{
		{500, nil, endless, 9 * time.Second, 10},
		{503, nil, `[0, 0.5, 3]`, 5 * time.Second, 4},
		{429, nil, `[0]`, time.Second, 2},
		{429, map[string]string{"Retry-After": "7"}, `[0, 0]`, 14 * time.Second, 3},
		{500, nil, `[]`, 0, 1},
	} {
		t.Run(fmt.Sprint(tt.status, tt.backoff), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				op := configured(t, map[string]string{"queueing.exit_timeout": "3600"})
				m := &answers{status: tt.status, headers: tt.headers}
				op.client = clientOf(op, m.config())
				e := events.New(op.Settings)
				stop := e.Start(t.Context(), op.client, "", zerolog.Nop())
				began := time.Now()
				event := about(t, "default", "n")
				event.Backoffs = abi.Raw(tt.backoff)
				if err := e.Explicit(posting.Ref{Namespace: "default"}, event); err != nil {
					t.Fatal(err)
				}
				stop()
				if count, took := int(m.count.Load()), time.Since(began)-op.Settings.Posting.IdleTimeout; count != tt.count || took < tt.want-op.Settings.Posting.IdleTimeout || took > tt.want+time.Second {
					t.Errorf("%d attempts in %v, want %d in %v", count, took, tt.count, tt.want)
				}
			})
		})
	}
}

// Events that a silent server does not answer count as pending.
func TestUnansweredEventsArePending(t *testing.T) {
	release := make(chan struct{})
	var open, most atomic.Int64
	p := newPoster(t, nil, nil, func(_ http.ResponseWriter, r *http.Request) {
		most.Store(max(most.Load(), open.Add(1)))
		defer open.Add(-1)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	accepted := 0
	for i := range posting.MaxPending + 2000 {
		err := p.Event(about(t, "default", fmt.Sprint("n", i)))
		switch {
		case err == nil:
			accepted++
		case !errors.Is(err, abi.ErrTooLarge):
			t.Fatal(err)
		}
		if i%1000 == 999 {
			time.Sleep(10 * time.Millisecond) // the workers take the waiting events
		}
	}
	for most.Load() < clients.MaxEvents {
		time.Sleep(time.Millisecond)
	}
	if accepted != posting.MaxPending {
		t.Errorf("%d events are accepted, want %d", accepted, posting.MaxPending)
	}
	if n := p.events.Dropped(); n != 2000 {
		t.Errorf("%d events are counted as dropped, want 2000", n)
	}
	if n := most.Load(); n > clients.MaxEvents {
		t.Errorf("%d requests at once, want %d at most", n, clients.MaxEvents)
	}
	p.events.Settings.Queueing.ExitTimeout = 0
	p.stop()
	close(release)
}

// Many dropped events give one line in the log per minute.
func TestDroppedEventsAreLoggedOncePerPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log reactortest.Output
		op := configured(t, map[string]string{"queueing.exit_timeout": "0.001"})
		m := &answers{status: 200, silent: true}
		op.client = clientOf(op, m.config())
		e := events.New(op.Settings)
		stop := e.Start(t.Context(), op.client, "", zerolog.New(&log))
		defer stop()
		flood := func(count int) {
			for i := range count {
				_ = e.Explicit(posting.Ref{Namespace: "default", Name: fmt.Sprint(i)}, abi.Event{Level: abi.LevelWarning})
			}
		}
		flood(posting.MaxPending + 500)
		if lines := strings.Count(log.String(), "dropped"); lines != 2 { // the field and the message of one line
			t.Errorf("the log has %s", log.String())
		}
		time.Sleep(events.Complaining)
		flood(500)
		if lines := strings.Count(log.String(), "\n"); lines != 2 || !strings.Contains(log.String(), `"dropped":501`) {
			t.Errorf("the log has %s", log.String())
		}
	})
}

// Events are limited by a burst and a rate.
func TestEventsHaveARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op := configured(t, map[string]string{"queueing.exit_timeout": "3600"})
		op.Limits.Events = clients.Rate{PerSecond: 10, Burst: 50}
		m := &answers{status: 200}
		op.client = clientOf(op, m.config())
		e := events.New(op.Settings)
		stop := e.Start(t.Context(), op.client, "", zerolog.Nop())
		for i := range 200 {
			if err := e.Explicit(posting.Ref{Namespace: "default", Name: fmt.Sprint(i)}, abi.Event{Level: abi.LevelWarning}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := m.count.Load(); n != 50 {
			t.Errorf("%d events are posted at once, want 50", n)
		}
		time.Sleep(10*time.Second + time.Millisecond)
		if n := m.count.Load(); n != 150 {
			t.Errorf("%d events are posted after 10 s, want 150", n)
		}
		stop()
		if n := m.count.Load(); n != 200 {
			t.Errorf("%d events are posted in the end, want 200", n)
		}
	})
}

// All requests of an operator are limited by a rate, whatever causes them.
func TestRequestsHaveARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op := configured(t, nil)
		op.Limits.Requests = clients.Rate{PerSecond: 10, Burst: 20}
		m := &answers{status: 200}
		op.client = clientOf(op, m.config())
		began := time.Now()
		for i := range 40 {
			var err error
			switch i % 3 {
			case 0:
				_, err = op.client.Patch(t.Context(), "/x", clients.MergePatch, []byte(`{}`))
			case 1:
				_, err = op.client.Get(t.Context(), "/x", nil)
			case 2:
				err = op.client.Post(t.Context(), "/x", []byte(`{}`), backoffs.Backoffs{})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took < 2*time.Second || took > 2*time.Second+time.Millisecond {
			t.Errorf("40 requests took %v, want 20 at once and 2 s for the others", took)
		}
		if n := op.client.Delayed(); n != 20 {
			t.Errorf("%d requests are counted as delayed, want 20", n)
		}
	})
}

// answers is a server without a network: it gives the same answer to all requests.
type answers struct {
	status  int
	headers map[string]string
	silent  bool // it never answers
	count   atomic.Int64
}

func (a *answers) config() *rest.Config { return &rest.Config{Host: "http://server", Transport: a} }

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.count.Add(1)
	if a.silent {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	header := http.Header{}
	for name, value := range a.headers {
		header.Set(name, value)
	}
	return &http.Response{StatusCode: a.status, Header: header, Body: io.NopCloser(strings.NewReader(`{}`)), Request: r}, nil
}
