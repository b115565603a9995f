package posting_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/heaptest"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/posting"
)

// TestLongReferences: handlers choose the objects of events, and thousands of events wait. What no object can have is refused.
func TestLongReferences(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := &posting.Poster{Send: func(ctx context.Context, _ apipath.Path, _ []byte, _ backoffs.Backoffs) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	p.Start(ctx, 1, time.Second)
	defer p.Wait()
	defer cancel()
	before := heaptest.InUse()
	for i := range 1_000 {
		long := fmt.Sprint(i) + strings.Repeat("x", 60_000)
		if err := p.Post(posting.Event{Ref: posting.Ref{APIVersion: "v1", Kind: "Pod", Name: long}}); !errors.Is(err, posting.ErrReference) {
			t.Fatal(err)
		}
	}
	if took := heaptest.InUse() - before; took > 1<<20 {
		t.Errorf("they take %d bytes", took)
	}
	longest := strings.Repeat("x", 253)
	if err := p.Post(posting.Event{Ref: posting.Ref{APIVersion: longest + "/" + longest[:63], Kind: longest[:63], Name: longest, Namespace: longest[:63], UID: longest}}); err != nil {
		t.Error(err)
	}
}

// TestLongEvents: ten thousand usual events may be pending, but not as many of the longest ones. Those that are settled make room.
func TestLongEvents(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		most int // events
	}{
		"usual":   {strings.Repeat("x", 300), posting.MaxPending},
		"longest": {strings.Repeat("\U0001f4a5", 1024), posting.MaxPendingTexts / (3 * 4 << 10)},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			p := &posting.Poster{Send: func(ctx context.Context, _ apipath.Path, _ []byte, _ backoffs.Backoffs) error {
				<-ctx.Done()
				return ctx.Err()
			}}
			post := func() error {
				return p.Post(posting.Event{Ref: posting.Ref{APIVersion: "v1", Kind: "Pod", Name: "n"}, Type: tt.text, Reason: tt.text, Message: tt.text})
			}
			p.Start(ctx, 1, time.Second)
			accepted := 0
			for post() == nil {
				accepted++
			}
			if accepted > tt.most || accepted < tt.most-1 {
				t.Errorf("%d are accepted, want %d", accepted, tt.most)
			}
			cancel()
			p.Wait()
			if err := post(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPendingEventsAreCharged to the operator until they are settled: a tenant may have many operators.
func TestPendingEventsAreCharged(t *testing.T) {
	tenant := &accounts.Tenant{Budget: accounts.NewBudget(3 << 20)}
	dropped := 0
	ctx, cancel := context.WithCancel(t.Context())
	p := &posting.Poster{Charge: accounts.NewCharge(tenant), Dropping: func(total int) { dropped = total }, Send: func(ctx context.Context, _ apipath.Path, _ []byte, _ backoffs.Backoffs) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	p.Start(ctx, 0, time.Second)
	accepted := 0
	for p.Post(posting.Event{Ref: posting.Ref{APIVersion: "v1", Kind: "Pod", Name: fmt.Sprint(accepted)}, Message: "m"}) == nil {
		accepted++
	}
	if accepted < 100 || accepted > 128 || dropped != 1 { // of 16 KiB
		t.Errorf("%d are accepted, %d are dropped", accepted, dropped)
	}
	cancel()
	p.Wait()
	if left := tenant.Memory(); left != 0 {
		t.Errorf("%d bytes are left", left)
	}
}
