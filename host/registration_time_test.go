package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/host/cores"
)

// TestOthersDoNotLetRegistrationsFail: the time in which a registration waits for a processor does not count,
// because other operators may want all of them.
func TestOthersDoNotLetRegistrationsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := &instance{m: &Module{options: Options{RegisterTimeout: 10 * time.Second}}}
		ctx, cancel := in.withTimeout(t.Context())
		defer cancel()
		process := cores.New(1, time.Now)
		budget := &budget{ctx: t.Context(), share: process.NewShare(0, 0), queued: &in.queued}
		other := process.NewShare(0, 0)
		budget.share.Take()
		for range 3 {
			budget.withoutCore(func() {
				other.Take()
				go func() { // waited for by withoutCore
					time.Sleep(time.Hour)
					other.Leave()
				}()
			})
			if time.Sleep(3 * time.Second); ctx.Err() != nil {
				t.Fatal(context.Cause(ctx))
			}
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) || err.Error() != "registration took longer than 10s: context deadline exceeded" {
			t.Errorf("it ends with %v", err)
		}
	})
}
