package membership

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/reactor/leadership"
)

var errRefused = errors.New("refused")

// partly refuses to write the Leases of members when it is closed.
type partly struct {
	*memory
	closed bool
}

func (p *partly) Of(member string) leadership.Store { return closable{p.memory.Of(member), p} }

type closable struct {
	leadership.Store
	of *partly
}

func (c closable) Write(ctx context.Context, state leadership.Lease) (leadership.Lease, error) {
	if c.of.closed {
		return leadership.Lease{}, errRefused
	}
	return c.Store.Write(ctx, state)
}

func TestCoordinatorIsReleasedEvenIfTheMemberCannotBe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		terms, err := leadership.TermsOf(leadership.DefaultDuration)
		if err != nil {
			t.Fatal(err)
		}
		leases := &partly{memory: newMemory()}
		m := New(Options{Member: "m", Identity: "m", Leases: leases, Terms: terms, Log: func(text string) { t.Log(text) }})
		ctx, stop := context.WithCancel(t.Context())
		led, ended := make(chan struct{}), make(chan error, 1)
		go func() { ended <- m.Run(ctx, func() { close(led) }) }()
		<-led
		time.Sleep(time.Minute)
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		leases.closed = true
		if err := m.Release(t.Context()); !errors.Is(err, errRefused) {
			t.Errorf("got %v", err)
		}
		if holder := leases.leases[electionLease].Holder; holder != "" {
			t.Errorf("the coordinator is still %q", holder)
		}
	})
}
