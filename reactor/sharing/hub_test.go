package sharing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/reactor/watching"
)

// Many subscribers share one connection, and each of them gets each event once. It closes
// when the last one has left.
func TestOneWatchForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.over()
		w.put("a")
		var all []*subscriber
		for i := range 10 {
			all = append(all, w.join(t, fmt.Sprint(i)))
		}
		synctest.Wait()
		w.put("a")
		w.put("b")
		w.remove("a")
		synctest.Wait()
		for i, s := range all {
			w.agrees(t, fmt.Sprint(i), s)
			if events, listings := s.counts(); events != 3 || listings != 1 {
				t.Errorf("%d got %d events and %d listings, want 3 and 1", i, events, listings)
			}
			if n := w.count(w.opened, fmt.Sprint(i)); n != 0 {
				t.Errorf("%d has opened %d watches of its own", i, n)
			}
		}
		if n := w.count(w.watches, "host"); n != 1 || w.hub.Watches() != 1 {
			t.Errorf("the host has %d watches, and counts %d", n, w.hub.Watches())
		}
		var first *feed
		for _, f := range w.hub.feeds {
			first = f
		}
		for _, s := range all {
			s.stop()
		}
		time.Sleep(2 * linger)
		if n := w.count(w.watches, "host"); n != 0 || w.hub.Watches() != 0 {
			t.Errorf("the host has %d watches and counts %d, though all subscribers have left", n, w.hub.Watches())
		}
		late := w.join(t, "late")
		defer late.stop()
		synctest.Wait()
		w.put("c")
		synctest.Wait()
		w.agrees(t, "late", late)
		if n := w.count(w.watches, "host"); n != 1 {
			t.Errorf("the host has %d watches, want 1 again", n)
		}
		w.hub.reap(first) // by a timer that was stopped too late
		if n := w.hub.Watches(); n != 1 {
			t.Errorf("the end of an earlier feed leaves %d feeds, want 1", n)
		}
	})
}

// Subscribers come and go while objects change and connections end. All of them agree with
// the server in the end, without an event that is lost, repeated or out of order.
func TestJoinsAndLeavesLoseNothing(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t)
			defer w.over()
			all := map[int]*subscriber{}
			for step := range 300 {
				switch n := random.IntN(40); {
				case n < 2:
					all[step] = w.join(t, "x")
				case n == 2:
					for i, s := range all {
						s.stop()
						delete(all, i)
						break
					}
				case n == 3:
					w.end()
				case n == 4:
					w.expire()
				case n == 5:
					w.elsewhere()
				case n == 6:
					w.put("")
				case n < 12:
					time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
				case n < 20:
					if name := fmt.Sprint(random.IntN(5)); w.exists(name) {
						w.remove(name)
					}
				default:
					w.put(fmt.Sprint(random.IntN(5)))
				}
				if random.IntN(3) == 0 {
					synctest.Wait()
				}
			}
			time.Sleep(time.Minute)
			for i, s := range all {
				w.agrees(t, fmt.Sprintf("seed %d, subscriber %d", seed, i), s)
				s.stop()
			}
		})
	}
}

// A subscriber that does not read delays no other one, and costs a log of bounded size. It
// catches up when it reads again, and shares the watch afterwards.
func TestSlowSubscribersDelayNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.over()
		slow, quick := w.join(t, "slow"), w.join(t, "quick")
		defer slow.stop()
		defer quick.stop()
		synctest.Wait()
		slow.mu.Lock()
		slow.hold = make(chan struct{})
		slow.mu.Unlock()
		const many = 3 * maxEvents
		for i := range many {
			w.put(fmt.Sprint(i % 10))
			if i%100 == 0 {
				synctest.Wait() // the quick one is as quick as the server
			}
		}
		synctest.Wait()
		if events, _ := quick.counts(); events != many {
			t.Errorf("the quick one got %d events, want %d", events, many)
		}
		f := w.hub.of(key{path: "/apis/g/v1/ks"})
		f.mu.Lock()
		if len(f.log) > maxEvents {
			t.Errorf("the log has %d events, want at most %d", len(f.log), maxEvents)
		}
		f.mu.Unlock()
		close(slow.hold)
		time.Sleep(time.Second)
		w.agrees(t, "slow", slow)
		if events, listings := slow.counts(); events != many || listings != 1 {
			t.Errorf("the slow one got %d events and %d listings, want all events without another listing", events, listings)
		}
		w.put("a")
		time.Sleep(time.Second)
		w.agrees(t, "slow", slow)
		if n := w.count(w.watches, "slow"); n != 0 {
			t.Errorf("the slow one keeps %d watches of its own", n)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if len(f.log) > minEvents {
			t.Errorf("%d events are kept, though all subscribers have read them", len(f.log))
		}
	})
}

// What has expired on the server is listed; the watch is shared again.
func TestExpiryListsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.over()
		w.put("a")
		w.put("b")
		first, second := w.join(t, "first"), w.join(t, "second")
		defer first.stop()
		defer second.stop()
		synctest.Wait()
		w.expire()
		time.Sleep(time.Second)
		w.put("c")
		time.Sleep(time.Second)
		for name, s := range map[string]*subscriber{"first": first, "second": second} {
			w.agrees(t, name, s)
			if _, listings := s.counts(); listings != 2 {
				t.Errorf("%s got %d listings, want 2", name, listings)
			}
			if n := w.count(w.watches, name); n != 0 {
				t.Errorf("%s has %d watches of its own", name, n)
			}
		}
	})
}

// After the end of a connection, all subscribers continue over a new one, without a listing.
func TestDisconnectsNeedNoListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.over()
		first := w.join(t, "first")
		defer first.stop()
		synctest.Wait()
		w.elsewhere()
		second := w.join(t, "second")
		defer second.stop()
		for i := range 5 {
			synctest.Wait()
			w.put(fmt.Sprint(i))
			w.end()
			w.put(fmt.Sprint(i))
			time.Sleep(time.Minute)
		}
		for name, s := range map[string]*subscriber{"first": first, "second": second} {
			w.agrees(t, name, s)
			if n := w.count(w.lists, name); n != 1 {
				t.Errorf("%s has listed %d times", name, n)
			}
			if n := w.count(w.opened, name); n != 0 {
				t.Errorf("%s has opened %d watches of its own", name, n)
			}
		}
		if n := w.count(w.opened, "host"); n != 6 {
			t.Errorf("the host has opened %d watches, want 6", n)
		}
	})
}

// A server with older data, such as one that was restored from a backup, is listed again.
func TestOlderDataIsListedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.over()
		w.put("a")
		w.put("b")
		s := w.join(t, "x")
		defer s.stop()
		synctest.Wait()
		w.put("c")
		synctest.Wait()
		w.mu.Lock()
		w.version, w.history = 500, nil
		w.objects = map[string]int{"a": 400}
		w.mu.Unlock()
		w.end()
		time.Sleep(time.Second)
		w.put("d")
		time.Sleep(time.Second)
		s.mu.Lock()
		s.wrong = nil // versions begin again
		s.mu.Unlock()
		w.agrees(t, "it", s)
	})
}

// Where the host may not watch, each subscriber watches itself.
func TestSubscribersWatchWhatTheHostMayNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.over()
		w.forbid("host", true)
		first, second := w.join(t, "first"), w.join(t, "second")
		defer first.stop()
		defer second.stop()
		synctest.Wait()
		w.put("a")
		synctest.Wait()
		w.agrees(t, "the first", first)
		w.agrees(t, "the second", second)
		if w.count(w.watches, "first") != 1 || w.count(w.watches, "second") != 1 {
			t.Error("they have no watches of their own")
		}
		w.forbid("host", false)
		time.Sleep(2 * abstention)
		w.end()
		time.Sleep(time.Second)
		w.put("b")
		synctest.Wait()
		w.agrees(t, "the first", first)
		if w.count(w.watches, "first") != 0 || w.count(w.watches, "host") != 1 {
			t.Error("the watch is not shared, though the host may watch by now")
		}
	})
}

// An account gets nothing that it may not list and watch itself. Lost rights end the
// delivery within a minute, or at the first refused request; then the server refuses.
func TestRightsAreThoseOfTheSubscriber(t *testing.T) {
	for _, noticed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			defer w.over()
			s, other := w.join(t, "x"), w.join(t, "other")
			defer s.stop()
			defer other.stop()
			time.Sleep(2 * least)
			w.put("a")
			synctest.Wait()
			w.forbid("x", true)
			if noticed {
				if _, err := s.stream.Client.Get(t.Context(), "/x", nil); err == nil {
					t.Fatal("the server does not refuse")
				}
			} else {
				time.Sleep(recheck)
			}
			w.put("secret")
			time.Sleep(time.Second)
			s.mu.Lock()
			if s.objects["secret"] != "" || s.objects["a"] == "" {
				t.Errorf("it knows %v", s.objects)
			}
			s.mu.Unlock()
			w.agrees(t, "the other", other)
			time.Sleep(time.Minute)
			if h := s.stream.Health(); h.Failures == 0 || h.Delivers(time.Now()) {
				t.Errorf("its stream counts as %+v", h)
			}
			w.forbid("x", false)
			time.Sleep(5 * time.Minute)
			w.agrees(t, "the account, permitted again", s)
		})
	}
}

// A subscriber is asked for before its first event, and gets none if the question fails. A
// failure later is forgiven for a while.
func TestFailingQuestionsAboutRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.over()
		var err error
		allowed := 0
		r := &right{access: func(context.Context, Scope) (bool, error) { allowed++; return err == nil, err }, refused: func() uint64 { return 0 }, log: func(int, string) {}}
		err = context.DeadlineExceeded
		if r.holds(t.Context()) {
			t.Error("an unknown right holds")
		}
		time.Sleep(recheck)
		err = nil
		first, again := r.holds(t.Context()), r.holds(t.Context())
		if !first || !again || allowed != 2 {
			t.Errorf("a right does not hold, or was asked for %d times", allowed)
		}
		err = context.DeadlineExceeded
		time.Sleep(recheck)
		if !r.holds(t.Context()) {
			t.Error("a right ends with one failed question")
		}
		time.Sleep(recheck)
		if r.holds(t.Context()) {
			t.Error("a right holds for ever without a confirmation")
		}
	})
}

// Other servers, other selections and the end of the hub are not shared.
func TestWhatIsNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.join(t, "x")
		defer s.stop()
		selected := w.join(t, "selected")
		selected.stop()
		selected.stream.Options = func() watching.Options {
			o := options()
			o.Labels = "a=b"
			return o
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = selected.stream.Run(ctx, selected)
		}()
		synctest.Wait()
		if n := w.hub.Watches(); n != 2 {
			t.Errorf("%d watches are shared, want one for each selection", n)
		}
		cancel()
		<-done
		w.hub.server = func(context.Context) (string, error) { return "http://other", nil }
		w.end()
		time.Sleep(time.Second)
		if w.count(w.watches, "x") != 1 {
			t.Error("the watch of another server is shared")
		}
		w.hub.server = func(context.Context) (string, error) { return "http://server", nil }
		w.over()
		w.end()
		time.Sleep(time.Second)
		w.put("a")
		synctest.Wait()
		w.agrees(t, "it", s)
		if w.count(w.watches, "x") != 1 || w.count(w.watches, "host") != 0 {
			t.Error("the hub watches after its end")
		}
	})
}

// TestEndsWakeWhoeverBeginsToWait: the context of a watch ends between two looks of its subscriber: the last one whether it has ended, and
// the one for an event. The subscriber must not wait for the next event.
func TestEndsWakeWhoeverBeginsToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.over()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		source := w.hub.Source(Subscriber{Client: w.client("x"), Log: func(int, string) {}}, Scope{Group: "g", Version: "v1", Plural: "ks"})
		lines, err := source.Watch(ctx, watching.Request{Path: "/apis/g/v1/ks", Options: options(), Version: "1000", Active: func() {}})
		if err != nil {
			t.Fatal(err)
		}
		defer lines.Close()
		c := lines.(*cursor)
		if _, waits, err := c.Poll(ctx, func() {}); !waits || err != nil {
			t.Fatalf("it waits: %t, %v", waits, err)
		}
		c.right.refused = func() uint64 { // is called between both
			cancel()
			synctest.Wait()
			return c.right.at
		}
		woken := false
		_, waits, err := c.Poll(ctx, func() { woken = true })
		synctest.Wait()
		if waits && !woken || !waits && !errors.Is(err, io.EOF) {
			t.Errorf("it waits: %t, was woken: %t, %v", waits, woken, err)
		}
	})
}
