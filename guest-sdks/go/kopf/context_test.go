package kopf_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopftest"
)

func TestCallsEndWithTheirContext(t *testing.T) {
	host := kopftest.New(t)
	host.Answer = func(kopftest.Request) *kopftest.Answer { return &kopftest.Answer{Body: kopf.Map{}} }
	c := host.Change(kopftest.Fixture{Body: body})
	over, cancel := context.WithCancel(c.Context())
	cancel()
	calls := map[string]func(ctx context.Context) error{
		"sleep": func(ctx context.Context) error { return kopf.Sleep(ctx, time.Hour) },
		"fetch": func(ctx context.Context) error {
			return second(kopf.Fetch(ctx, kopf.Request{URL: "https://example.com"}))
		},
		"api": func(ctx context.Context) error { return second(kopf.NewAPI(ctx, "v1", "pods").Get("p")) },
	}
	for name, call := range calls {
		if err := call(over); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want that of the context", name, err)
		}
		if err := call(c.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(host.Requests) != 2 {
		t.Errorf("%d requests, want none with the cancelled context", len(host.Requests))
	}
}

func TestSleepEndsAtTheDeadline(t *testing.T) {
	c := kopftest.New(t).Change(kopftest.Fixture{Body: body})
	ctx, cancel := context.WithDeadline(c.Context(), time.Now().Add(time.Minute))
	defer cancel()
	if err := kopf.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want that of the deadline", err)
	}
	if err := kopf.Sleep(ctx, time.Second); err != nil {
		t.Errorf("a sleep before the deadline: %v", err)
	}
}

func TestRequestsNeedTheContextOfAHandler(t *testing.T) {
	_, fetched := kopf.Fetch(context.Background(), kopf.Request{URL: "https://example.com"})
	_, got := kopf.NewAPI(context.Background(), "v1", "pods").Get("p")
	for name, err := range map[string]error{"fetch": fetched, "api": got} {
		var refused *kopf.RequestError
		if !errors.As(err, &refused) || refused.Code != kopf.RequestInvalid {
			t.Errorf("%s: error %v, want an invalid request", name, err)
		}
	}
}
