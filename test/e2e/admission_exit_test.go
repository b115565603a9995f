package e2e_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
				if _, err := w.client().Create(t.Context(), w.widget(t, name, "{}"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
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
