package queueing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestObjectsBeginInOrder checks that objects that arrive together begin in order, whenever they are
// ready.
func TestObjectsBeginInOrder(t *testing.T) {
	const n = maxPlaces
	tests := []struct {
		name string
		busy func(i int) time.Duration // how long an object computes
		want time.Duration             // when the last object has begun
	}{
		{"short ones", func(int) time.Duration { return time.Millisecond }, (n - 1) * time.Millisecond},
		{"one that never rests", func(i int) time.Duration { return time.Duration(max(0, 1-i)) * time.Hour }, placePatience},
		{"all of them do not", func(int) time.Duration { return time.Hour }, (n - 1) * placePatience},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s sequence
				var mu sync.Mutex
				var order, want []int
				var last time.Duration
				begin := time.Now()
				places := make([]*place, n)
				for i := range places {
					places[i], want = s.join(), append(want, i)
				}
				if s.join() != nil {
					t.Error("there is no end of the line")
				}
				for _, i := range rand.Perm(n) {
					go func() {
						places[i].wait(t.Context())
						mu.Lock()
						order, last = append(order, i), time.Since(begin)
						mu.Unlock()
						time.Sleep(test.busy(i))
						places[i].over()
						places[i].over() // does not matter
					}()
				}
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				if !slices.Equal(order, want) || last != test.want {
					t.Errorf("order %v, the last one after %v; want it after %v", order, last, test.want)
				}
				if len(s.line) > 0 {
					t.Errorf("%d places are still taken", len(s.line))
				}
			})
		})
	}
}

// TestQueuesBeginInOrder checks that objects that arrive together are handled in order,
// and that none waits for an object that waits itself.
func TestQueuesBeginInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order, want []string
		r := &recorder{}
		r.work = func(ctx context.Context, it Item, q *Queue) string {
			_ = q.Unhurried(ctx, true, nil)
			mu.Lock()
			order = append(order, it.Meta.UID)
			mu.Unlock()
			q.Sleep(ctx, time.Minute)
			return ""
		}
		qs := testQueues(r)
		ctx, cancel := context.WithCancel(t.Context())
		for i := range maxPlaces {
			uid := fmt.Sprintf("uid%02d", i)
			qs.Put(ctx, event(uid, 1, "ADDED"))
			want = append(want, uid)
		}
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(order, want) || time.Since(r.begin) > 0 {
			t.Errorf("order %v, after %v", order, time.Since(r.begin))
		}
		go qs.Drain(cancel, time.Second)
		time.Sleep(time.Minute)
	})
}
