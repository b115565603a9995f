package stoppers

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ctx, force := WithForce(ctx)
		killed := map[string]bool{}
		AfterForce(context.WithoutCancel(ctx), func() { killed["one"] = true })
		AfterForce(ctx, func() { killed["stopped"] = true })()
		AfterForce(t.Context(), func() { killed["another"] = true })
		cancel()
		if synctest.Wait(); len(killed) > 0 {
			t.Errorf("after a graceful end: %v", killed)
		}
		force()
		if synctest.Wait(); len(killed) != 1 || !killed["one"] {
			t.Errorf("after a forced end: %v", killed)
		}
	})
}
