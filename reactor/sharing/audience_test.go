package sharing

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/reactor/filters"
	"github.com/kopf-wasm/kopf/reactor/interests"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// seen returns what a subscriber got since the last call.
func (s *subscriber) seen() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.types
	s.types = nil
	return seen
}

// gets checks what a subscriber got since the last call.
func (s *subscriber) gets(t *testing.T, when string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, s.seen()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

// A subscriber gets the events of objects that its interest includes, and those of objects that
// it has seen before, until they are deleted.
func TestEventsGoToThoseWhomTheyConcern(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.over()
		w.label("old", "x")
		w.label("foreign", "y")
		w.mark("guarded", `,"finalizers":["own/finalizer"]`)
		s, all := w.joinFor(t, "s", "x"), w.join(t, "all")
		defer s.stop()
		defer all.stop()
		if n := len(s.seen()); n != 2 {
			t.Errorf("it has listed %d objects, want those with its label and its finalizer", n)
		}
		steps := []struct {
			name string
			do   func()
			want []string
		}{
			{"another object", func() { w.put("foreign"); w.label("b", "y"); w.remove("foreign") }, nil},
			{"a bookmark", func() { w.put("") }, nil},
			{"a new object", func() { w.label("a", "x") }, []string{"ADDED a"}},
			{"it begins to match", func() { w.label("b", "x") }, []string{"MODIFIED b"}},
			{"it stops to match", func() { w.label("b", "y") }, []string{"MODIFIED b"}},
			{"changes after that", func() { w.put("b") }, []string{"MODIFIED b"}},
			{"it gets a finalizer", func() { w.put("c"); w.mark("c", `,"finalizers":["own/finalizer"]`) }, []string{"MODIFIED c"}},
			{"the finalizer goes", func() { w.mark("guarded", "") }, []string{"MODIFIED guarded"}},
			{"deletions", func() { w.remove("b"); w.remove("old"); w.remove("guarded") }, []string{"DELETED b", "DELETED old", "DELETED guarded"}},
			{"the name is used again", func() { w.mu.Lock(); delete(w.marks, "old"); w.mu.Unlock(); w.put("old") }, nil},
		}
		for _, step := range steps {
			step.do()
			s.gets(t, step.name, step.want...)
		}
		w.agrees(t, "a subscriber without an interest", all)
		f := w.hub.of(key{path: "/apis/g/v1/ks"})
		f.mu.Lock()
		defer f.mu.Unlock()
		if n := len(f.up.audience.objects); n != 2 {
			t.Errorf("the feed remembers %d objects, want those that concern somebody and exist: a, c", n)
		}
	})
}

// A subscriber that was not woken for long continues from where the watch is: it neither lists
// nor opens a connection.
func TestUnconcernedSubscribersKeepUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.over()
		w.label("mine", "x")
		s := w.joinFor(t, "s", "x")
		defer s.stop()
		s.gets(t, "the listing", "LISTED mine")
		before := s.stream.Health()
		for range 10 {
			w.put("foreign")
			synctest.Wait()
		}
		if diff := cmp.Diff(before, s.stream.Health()); diff != "" {
			t.Errorf("its stream has run (-before +after):\n%s", diff)
		}
		for range 3 {
			for i := range 2 * maxEvents {
				w.put(fmt.Sprint(i % 10))
				if i%1000 == 0 {
					synctest.Wait()
				}
			}
			synctest.Wait()
			w.end()
			time.Sleep(time.Second)
		}
		s.gets(t, "what does not concern it")
		w.label("mine", "y")
		s.gets(t, "a change of an object from before", "MODIFIED mine")
		if _, listings := s.counts(); listings != 1 || w.count(w.opened, "s") != 0 {
			t.Errorf("it has listed %d times, and opened %d connections", listings, w.count(w.opened, "s"))
		}
	})
}

// The contact with the server counts, also if no event concerns the subscriber.
func TestUnconcernedSubscribersAreNotInactive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.over()
		w.inactivity = 30 * time.Second
		s := w.joinFor(t, "s", "x")
		defer s.stop()
		time.Sleep(time.Second)
		since := s.stream.Health().Since
		for range 20 {
			w.put("foreign")
			time.Sleep(10 * time.Second)
		}
		h := s.stream.Health()
		if h.Since != since || time.Since(h.Contact) > 40*time.Second || !h.Delivers(time.Now()) {
			t.Errorf("its watch was not quiet: %+v", h)
		}
		time.Sleep(2 * time.Minute)
		if s.stream.Health().Since == since {
			t.Error("it does not notice that nothing arrives")
		}
	})
}

// Objects that are gone after a gap are reported if the subscriber knows them; others that
// have appeared, if they concern it.
func TestGapsAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.over()
		w.label("gone", "x")
		w.label("other", "y")
		s := w.joinFor(t, "s", "x")
		defer s.stop()
		s.gets(t, "the listing", "LISTED gone")
		w.forbid("host", true)
		w.forbid("s", true)
		w.end()
		time.Sleep(time.Second)
		w.remove("gone")
		w.remove("other")
		w.label("new", "x")
		w.expire()
		w.forbid("host", false)
		w.forbid("s", false)
		time.Sleep(5 * time.Minute)
		s.gets(t, "after the gap", "LISTED new", "DELETED gone")
	})
}

// A slow subscriber that the log has passed by catches up without a listing: all between its
// last event and the first one that it has missed did not concern it.
func TestSlowSubscribersWithInterestCatchUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.over()
		s := w.joinFor(t, "slow", "x")
		defer s.stop()
		synctest.Wait()
		for i := range 100 {
			w.put(fmt.Sprint(i))
		}
		s.gets(t, "what does not concern it")
		s.mu.Lock()
		s.hold = make(chan struct{})
		s.mu.Unlock()
		for i := range 2 * maxEvents {
			w.label("mine", "x")
			w.put(fmt.Sprint(i % 10))
		}
		synctest.Wait()
		close(s.hold)
		time.Sleep(time.Second)
		w.label("mine", "x")
		time.Sleep(time.Second)
		if events, listings := s.counts(); events != 2*maxEvents+1 || listings != 1 || w.count(w.watches, "slow") != 0 {
			t.Errorf("it got %d events and %d listings, and has %d watches of its own", events, listings, w.count(w.watches, "slow"))
		}
	})
}

// Lost rights end the delivery of what concerns a subscriber.
func TestRightsOfSubscribersWithInterest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.over()
		s := w.joinFor(t, "s", "x")
		defer s.stop()
		synctest.Wait()
		w.forbid("s", true)
		time.Sleep(recheck)
		w.label("secret", "x")
		time.Sleep(time.Second)
		s.gets(t, "without rights")
		w.forbid("s", false)
		time.Sleep(5 * time.Minute)
		if seen := s.seen(); len(seen) != 1 {
			t.Errorf("with rights again, it got %q", seen)
		}
	})
}

// Replaced handlers see the objects that concern them now: once, and only as shown again.
// Objects that concerned the earlier handlers stay.
func TestInterestsAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.over()
		w.label("a", "x")
		w.label("b", "y")
		w.label("c", "z")
		s := w.joinFor(t, "s", "x")
		defer s.stop()
		s.gets(t, "the listing", "LISTED a")
		s.stream.SetInterest(wanting("x"))
		if _, listings := s.counts(); listings != 1 {
			t.Error("an equal interest is another one")
		}
		began := time.Now()
		s.stream.SetInterest(wanting("y"))
		if err := s.stream.Again(t.Context(), again{s}); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited > time.Second {
			t.Errorf("the watch with the old interest has lasted for %v", waited)
		}
		seen := s.seen()
		slices.Sort(seen)
		if diff := cmp.Diff([]string{"AGAIN a", "AGAIN b"}, seen); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		w.put("a")
		w.label("b", "x")
		w.label("c", "x")
		w.label("d", "y")
		w.remove("b")
		s.gets(t, "later", "MODIFIED a", "MODIFIED b", "ADDED d", "DELETED b")
		s.stream.SetInterest(nil)
		if err := s.stream.Again(t.Context(), again{s}); err != nil {
			t.Fatal(err)
		}
		if n := len(s.seen()); n != 3 {
			t.Errorf("without an interest, it has seen %d objects, want 3", n)
		}
		w.put("c")
		s.gets(t, "without an interest", "MODIFIED c")
	})
}

// Handlers that resume objects are called for those that are older than the operator, also if
// they begin to match later.
func TestOlderObjectsAreKnownAsSuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.over()
		for _, name := range []string{"a", "b", "c"} {
			w.label(name, "y")
		}
		i := wanting("x")
		i.Resuming = true
		s := w.joinWith(t, "s", i)
		defer s.stop()
		s.gets(t, "the listing")
		w.label("d", "y")
		w.label("b", "x")
		w.label("d", "x")
		w.label("e", "x")
		w.put("b")
		s.gets(t, "they begin to match", "MODIFIED b early", "MODIFIED d", "ADDED e", "MODIFIED b")
	})
}

// Each label that a handler requires would do to find its subscribers. The feed takes one that
// others do not require.
func TestCommonLabelsWakeNobody(t *testing.T) {
	a := newAudience()
	for i := range 100 {
		a.add(&cursor{interest: &interests.Interest{Labels: [][]filters.Label{{{Key: "app", Value: "x"}, {Key: "tier", Value: fmt.Sprint(i)}}}}})
	}
	if n := len(a.labels[filters.Label{Key: "app", Value: "x"}]); n > 1 {
		t.Errorf("%d subscribers are looked at for each object of the application", n)
	}
}

// ends fails the test if something computes for far longer than it needs, as it would with the square of its input.
func ends(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { // Until it is done, or the process ends.
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("it still computes")
	}
}

// The feed computes in proportion to what operators register and what objects have, because all of its subscribers
// wait meanwhile. An author of an operator chooses the handlers and the labels, and a user of an object its finalizers.
func TestFeedsComputeInProportion(t *testing.T) {
	raw := func(metadata string) []byte {
		return fmt.Appendf(nil, `{"metadata":{"name":"a","uid":"uid-a","resourceVersion":"2",%s}}`, metadata)
	}
	list := func(n int, format string) string {
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprintf(format, i))
		}
		return strings.Join(parts, ",")
	}
	common := wanting("0")
	for _, tt := range []struct {
		name        string
		subscribers int
		interest    func() *interests.Interest
		known       int // objects of each subscriber
		object      []byte
		events      int
	}{
		{"handlers for labels that an object has, and one that it has not", 1, func() *interests.Interest {
			i := &interests.Interest{Finalizer: "f"}
			for n := range 20_000 {
				i.Labels = append(i.Labels, []filters.Label{{Key: fmt.Sprint("l", n), Any: true}, {Key: "other", Any: true}, {Key: "another", Any: true}})
			}
			return i
		}, 0, raw(`"labels":{` + list(20_000, `"l%d":""`) + `}`), 3},
		{"finalizers that repeat", 3000, func() *interests.Interest { return &interests.Interest{Finalizer: "f"} }, 0, raw(`"finalizers":[` + list(300_000, `"f"`) + `]`), 3},
		{"finalizers that nobody has", 3000, func() *interests.Interest { return common }, 0, raw(`"labels":{"for":"0"},"finalizers":[` + list(100_000, `"%06d"`) + `]`), 3},
		{"a new object that concerns many", 30_000, func() *interests.Interest { return common }, 0, raw(`"labels":{"for":"0"}`), 1},
		{"many join with many objects", 2000, func() *interests.Interest { return common }, 3000, raw(`"labels":{"for":"0"}`), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			known := func(yield func(string) bool) {
				for i := range tt.known {
					if !yield(strconv.Itoa(i)) {
						return
					}
				}
			}
			f := &feed{hub: &Hub{ctx: t.Context()}}
			f.up = &upstream{over: make(chan struct{}), audience: newAudience()}
			ends(t, func() {
				for range tt.subscribers {
					r := &watching.Request{Interest: tt.interest(), Known: known}
					if err := f.enter(&cursor{feed: f, from: "1", interest: r.Interest, follows: keysOf(r)}); err != nil {
						t.Error(err)
					}
				}
				for i := range tt.events {
					meta := watching.Meta{UID: "uid-a", Name: "a", ResourceVersion: strconv.Itoa(2 + i)}
					if err := f.add(f.up, watching.Event{Type: watching.Modified, Object: tt.object, Meta: meta}); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// An event that concerns one of many subscribers takes as long as with one subscriber.
func BenchmarkEvent(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000, 10000} {
		for _, name := range []string{"selective", "all"} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				f := &feed{hub: &Hub{ctx: b.Context()}}
				f.up = &upstream{over: make(chan struct{}), audience: newAudience()}
				var all []*cursor
				for i := range n {
					c := &cursor{feed: f, from: "1"}
					if name == "selective" {
						c.interest = wanting(fmt.Sprint(i))
					}
					if err := f.enter(c); err != nil {
						b.Fatal(err)
					}
					all = append(all, c)
				}
				raw := []byte(object("a", 1, `,"labels":{"for":"0"}`))
				for version := 2; b.Loop(); version++ {
					meta := watching.Meta{UID: "uid-a", Name: "a", ResourceVersion: strconv.Itoa(version)}
					if err := f.add(f.up, watching.Event{Type: watching.Modified, Object: raw, Meta: meta}); err != nil {
						b.Fatal(err)
					}
					for _, c := range all {
						if len(c.pending) > 0 {
							_, _ = c.take(b.Context(), func() {})
						}
						if name == "selective" {
							break // no event waits for the others
						}
					}
				}
			})
		}
	}
}

// Objects change their labels, subscribers come and go and change their interests, and
// connections end. Each subscriber knows the newest state of all objects that concern it, and
// of no deleted ones.
func TestInterestsLoseNothing(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 2))
			w := newWorld(t)
			defer w.over()
			all, wants := map[int]*subscriber{}, map[int]string{}
			for step := range 400 {
				value := fmt.Sprint(random.IntN(3))
				switch n := random.IntN(40); {
				case n < 2:
					all[step], wants[step] = w.joinFor(t, "s", value), value
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
					w.put("")
				case n == 6:
					for i, s := range all {
						s.stream.SetInterest(wanting(value))
						_ = s.stream.Again(t.Context(), again{s})
						wants[i] = value
						break
					}
				case n < 12:
					time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
				case n < 18:
					if name := fmt.Sprint(random.IntN(8)); w.exists(name) {
						w.remove(name)
					}
				case n < 30:
					w.label(fmt.Sprint(random.IntN(8)), value)
				default:
					w.put(fmt.Sprint(random.IntN(8)))
				}
				if random.IntN(3) == 0 {
					synctest.Wait()
				}
			}
			time.Sleep(time.Minute)
			for i, s := range all {
				w.suffices(t, fmt.Sprintf("seed %d, subscriber %d", seed, i), s, wants[i])
				s.stop()
			}
		})
	}
}

// again takes the objects that are shown again.
type again struct{ *subscriber }

func (a again) Event(e watching.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.types = append(a.types, "AGAIN "+e.Meta.Name)
	a.objects[e.Meta.Name] = e.Meta.ResourceVersion
}

func (again) Listed() {}

func (s *apiServer) exists(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, exists := s.objects[name]
	return exists
}

// suffices checks that a subscriber knows all objects with a label, and others that it knows in
// their newest version.
func (w *world) suffices(t *testing.T, name string, s *subscriber, value string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for object, version := range w.objects {
		known := s.objects[object]
		concerned := w.marks[object] == fmt.Sprintf(`,"labels":{"for":%q}`, value)
		if known != strconv.Itoa(version) && (known != "" || concerned) {
			t.Errorf("%s knows %s at %q, want %d", name, object, known, version)
		}
	}
	for object := range s.objects {
		if _, exists := w.objects[object]; !exists {
			t.Errorf("%s knows %s, which is deleted", name, object)
		}
	}
	for _, text := range s.wrong {
		t.Errorf("%s: %s", name, text)
	}
}

// TestLogsOfAllFeedsAreBounded: many watches whose subscribers are slow have no more together than a few of them. What they drop, the
// subscribers read again.
func TestLogsOfAllFeedsAreBounded(t *testing.T) {
	h := &Hub{feeds: map[key]*feed{}}
	const size, feeds = 1 << 20, 3 * maxLogs / maxBytes
	object := []byte(`{"metadata":{"uid":"u","resourceVersion":"1"},"data":"` + strings.Repeat("x", size) + `"}`)
	var all []*feed
	for i := range feeds {
		f := h.of(key{labels: fmt.Sprint(i)})
		f.last = "1"
		up := &upstream{over: make(chan struct{}), audience: newAudience()}
		up.audience.add(&cursor{feed: f, up: up})
		all = append(all, f)
		for version := range 20 {
			if err := f.add(up, watching.Event{Type: "ADDED", Meta: watching.Meta{UID: "u", ResourceVersion: fmt.Sprint(version + 2)}, Object: object}); err != nil {
				t.Fatal(err)
			}
		}
		if f.bytes > maxBytes {
			t.Errorf("feed %d has %d bytes", i, f.bytes)
		}
	}
	if held := h.logs.Load(); held > maxLogs+feeds*2*size || held < maxLogs/2 {
		t.Errorf("all feeds have %d bytes", held)
	}
	for _, f := range all {
		h.reap(f)
	}
	if held := h.logs.Load(); held != 0 {
		t.Errorf("feeds that are gone have %d bytes", held)
	}
}
