package e2e_test

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/test/porttest"
)

// burst is how many objects live and die at once.
const burst = 1000

// busyInstances is the metric of instances that work, when none does.
var busyInstances = regexp.MustCompile(`kopf_module_instances\{[^}]*state="busy"\} 0\n`)

// TestNothingLeaks: a thousand objects with daemons, timers and index entries are
// created and deleted in a burst. After that, the operator holds nothing of them.
//
// It does not run in parallel with other tests, as it counts the goroutines of the process.
func TestNothingLeaks(t *testing.T) { //nolint:paralleltest // see above
	if testing.Short() {
		t.Skip("takes a minute")
	}
	s := newSpace(t)
	listen := porttest.Unused(t)
	op := s.startLiving(t, "daemon timer index", options{
		change:   func(o *operator.Options) { o.Listen = listen },
		config:   map[string]string{"options": `{"interval":0.5}`},
		settings: func(s *settings.Settings) { s.Queueing.IdleTimeout = 100 * time.Millisecond },
	})
	s.create(t, "first", "{key: x}")
	op.until(t, "it ticks", func() bool { return op.lines(`"tick":"first"`) > 0 })
	s.remove(t, "first")
	s.gone(t, "first")
	before := settled(t, op)

	var creating sync.WaitGroup
	for worker := range 8 {
		creating.Go(func() { // Waited for below.
			for i := worker; i < burst; i += 8 {
				s.create(t, fmt.Sprint("obj", i), fmt.Sprintf("{key: k%d, period: 5}", i%10))
			}
		})
	}
	creating.Wait()
	op.until(t, "many live", func() bool { return op.counts().Daemons > burst })
	if err := s.client(examples).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Eventually(t, 4*patience, func() error {
		list, err := s.client(examples).List(t.Context(), metav1.ListOptions{Limit: 1})
		if err == nil && len(list.Items) > 0 {
			err = errors.New("there are objects left")
		}
		return err
	})
	s.Eventually(t, 4*patience, func() error {
		if c := op.counts(); c.Objects+c.Daemons+c.Indexed > 0 {
			return fmt.Errorf("the operator holds %+v", c)
		}
		// An instance is busy as long as there is a task on it.
		if _, text, err := ask(t, "http://"+listen+"/metrics", patience); err != nil || !busyInstances.MatchString(text) {
			return fmt.Errorf("there are tasks left: %w\n%s", err, text)
		}
		if after := goroutines(); after > before+20 {
			return fmt.Errorf("%d goroutines, %d before", after, before)
		}
		return nil
	})
	op.stop(t)
}

// settled is the number of goroutines when nothing happens any more.
func settled(t *testing.T, op *running) int {
	t.Helper()
	least := goroutines()
	for range 20 {
		time.Sleep(100 * time.Millisecond)
		least = min(least, goroutines())
	}
	if c := op.counts(); c.Objects+c.Daemons+c.Indexed > 0 {
		t.Errorf("the operator holds %+v of one object", c)
	}
	return least
}

// goroutines is how many goroutines there are, without those of connections: an idle one stays open for 90 seconds.
func goroutines() int {
	stacks := make([]byte, 64<<20)
	number := 0
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if !strings.Contains(stack, "net/http.(*persistConn)") {
			number++
		}
	}
	return number
}
