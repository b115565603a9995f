package e2e_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// TestNoReviewIsLostAtTheExit: users who change objects while the operator ends notice
// nothing of it. The API server asks for a moment longer than its configuration says.
func TestNoReviewIsLostAtTheExit(t *testing.T) {
	t.Parallel()
	w := newSpace(t).admit(t, options{config: map[string]string{"handlers": "check fill"}})
	var users sync.WaitGroup
	var stop atomic.Bool
	var made atomic.Int64
	defer users.Wait()
	defer stop.Store(true)
	for user := range 4 {
		users.Go(func() {
			for n := 0; !stop.Load(); n++ {
				name := fmt.Sprintf("w-%d-%d", user, n)
				if err := w.try(t.Context(), name); err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				made.Add(1)
			}
		})
	}
	more := func() {
		before := made.Load()
		w.until(t, "users go on", func() bool { return made.Load() > before+20 || t.Failed() })
	}
	more()
	w.cancel()
	<-w.ended
	more()
}
