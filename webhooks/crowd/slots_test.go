package crowd

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestSlotsAreShared: slots become free one after the other, and the next owner depends on
// how many a client has. Each client takes those that its text says, in this order.
func TestSlotsAreShared(t *testing.T) {
	clients := map[byte]netip.Prefix{'a': netip.MustParsePrefix("10.0.0.1/32"), 'b': netip.MustParsePrefix("10.0.0.2/32"), 'c': netip.MustParsePrefix("10.0.0.3/32")}
	for _, tt := range []struct {
		name string
		all  int
		ask  string // one request each: the client, and the slots that it wants
		want string // the clients in the order in which they are served
	}{
		{"one client", 2, "a1 a1 a1 a1", "aaaa"},
		{"another one is next", 2, "a1 a1 a1 a1 a1 b1", "aabaaa"},
		{"and then again", 2, "a1 a1 a1 a1 b1 b1 b1", "aababab"},
		{"large ones do not block small ones", 2, "a1 a2 b1 c1", "abca"},
		{"a request that wants more than there are", 2, "a9 b1", "ab"},
		{"a request for nothing takes one", 1, "a0 b0", "ab"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewSlots(tt.all, 10)
				var mu sync.Mutex
				var got strings.Builder
				delay := time.Duration(0)
				for request := range strings.FieldsSeq(tt.ask) {
					go func() { // ends in the bubble
						give, err := s.Take(t.Context(), clients[request[0]], int(request[1]-'0'))
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						got.WriteByte(request[0])
						delay++
						mine := delay
						mu.Unlock()
						time.Sleep(time.Second + mine*time.Millisecond) // one after the other
						give()
					}()
					synctest.Wait()
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if got.String() != tt.want {
					t.Errorf("served are %s, want %s", &got, tt.want)
				}
				if s.free != tt.all || s.waiting != 0 || len(s.clients) != 0 {
					t.Errorf("in the end %d slots are free, %d requests wait, and %d clients are known", s.free, s.waiting, len(s.clients))
				}
			})
		})
	}
}

// TestWaitForSlotEndsWithContext: a request that gives up leaves the queue, and others pass.
func TestWaitForSlotEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(1, 10)
		give, err := s.Take(t.Context(), netip.Prefix{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Take(ctx, netip.Prefix{}, 1); !errors.Is(err, ErrSlots) {
			t.Errorf("error %v", err)
		}
		give()
		if s.free != 1 || s.waiting != 0 || len(s.clients) != 0 {
			t.Errorf("%d slots are free, %d requests wait, %d clients are known", s.free, s.waiting, len(s.clients))
		}
	})
}

// TestQueueOfSlotsIsBounded: the client with the most waiting requests loses its oldest one.
func TestQueueOfSlotsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(1, 3)
		many, few := netip.MustParsePrefix("10.0.0.1/32"), netip.MustParsePrefix("10.0.0.2/32")
		give, err := s.Take(t.Context(), many, 1)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex // guards ends
		ends := ""
		ask := func(name string, from netip.Prefix) {
			go func() { // ends in the bubble
				give, err := s.Take(t.Context(), from, 1)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					ends += "-" + name
					return
				}
				ends += "+" + name
				give()
			}()
			synctest.Wait()
		}
		for _, name := range []string{"a", "b", "c", "d"} {
			ask(name, many)
		}
		ask("x", few)
		give()
		synctest.Wait()
		for _, want := range []string{"-a-b", "+c", "+d", "+x"} {
			if !strings.Contains(ends, want) {
				t.Errorf("ends are %s, want %s", ends, want)
			}
		}
		if s.free != 1 || s.waiting != 0 || len(s.clients) != 0 {
			t.Errorf("%d slots are free, %d requests wait, %d clients are known", s.free, s.waiting, len(s.clients))
		}
	})
}
