package membership

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/reactor/leadership/leadershiptest"
)

// still is a place that ends no work by itself.
type still struct{}

func (still) Release(string) {}

// TestAGroupSettlesWhenAllOfItsOperatorsHave: one that begins meanwhile takes nothing that the member loses; one that has left
// is not awaited.
func TestAGroupSettlesWhenAllOfItsOperatorsHave(t *testing.T) {
	t.Parallel()
	settled := int64(0)
	g := newGroup("a", func(generation int64) { settled = max(settled, generation) })
	alone := Assignment{Generation: 4, Members: []string{"a"}, Previous: []string{"a"}}
	g.adopt(alone)
	if settled != 4 {
		t.Fatalf("without operators, the generation %d is settled", settled)
	}
	next := Assignment{Generation: 5, Members: []string{"a", "b"}, Previous: []string{"a"}, Unsettled: []string{"a"}}
	all := keys(100)
	lost := all[slices.IndexFunc(all, func(key string) bool { return next.Owner(key) == "b" })]
	first, second := g.Join(), g.Join()
	for _, h := range []*Holdings{first, second} {
		if epoch, _ := h.Epoch(); !h.Take(lost, still{}, epoch, "", false) {
			t.Fatal("an operator cannot take an object of the member")
		}
	}
	g.adopt(next)
	third := g.Join()
	if epoch, _ := third.Epoch(); third.Take(lost, still{}, epoch, "", false) {
		t.Error("an operator that begins takes what the member loses")
	}
	if first.Released(lost); settled != 4 {
		t.Errorf("the generation %d is settled while an operator works", settled)
	}
	if g.Leave(second); settled != 5 {
		t.Errorf("the generation %d is settled after all have ended", settled)
	}
}

// TestAllMembersEndWhatIsDismissed: a subject is ended when all members have answered, or have ended; a member that joins learns of it
// before it has any object.
func TestAllMembersEndWhatIsDismissed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		leases := newMemory()
		var mu sync.Mutex
		asked := map[string][]string{}
		join := func(name string) (*Member, func()) {
			m := New(Options{Member: name, Identity: name, Leases: leases, Terms: leadershiptest.Terms(t), Log: func(string) {}, Dismissals: NewDismissals(func(subjects []string) {
				mu.Lock()
				defer mu.Unlock()
				asked[name] = subjects
			})})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { // Waited for by the returned function.
				defer close(ended)
				_ = m.Run(ctx, func() {})
			}()
			return m, func() { stop(); <-ended }
		}
		a, stopA := join("a")
		defer stopA()
		time.Sleep(time.Minute)
		b, stopB := join("b")
		_, stopC := join("c")
		time.Sleep(time.Minute)
		ask := func(want bool, when string) {
			t.Helper()
			a.Dismissals.Dismiss("subject")
			time.Sleep(10 * time.Second)
			if done := a.Dismissals.Dismiss("subject"); done != want {
				t.Errorf("%s: done is %t", when, done)
			}
		}
		if b.Dismissals.Dismiss("subject") {
			t.Error("a member that is not the coordinator dismisses")
		}
		ask(false, "at first")
		a.Dismissals.Answer("subject")
		b.Dismissals.Answer("subject")
		ask(false, "before the last member")
		d, stopD := join("d")
		defer stopD()
		time.Sleep(10 * time.Second)
		mu.Lock()
		if d.Group.Members() != 4 || !slices.Equal(asked["d"], []string{"subject"}) {
			t.Errorf("%d members; the one that has joined is asked for %q", d.Group.Members(), asked["d"])
		}
		mu.Unlock()
		d.Dismissals.Answer("subject")
		stopC() // without a release
		time.Sleep(time.Minute)
		ask(true, "after the last member has ended")
		a.Dismissals.Forget("subject")
		time.Sleep(10 * time.Second)
		if lease, _ := leases.Election().Read(t.Context()); lease.Note == "" || slices.Contains(must(parse(lease.Note)).Dismissed, "subject") {
			t.Errorf("a forgotten subject is noted: %s", lease.Note)
		}
		mu.Lock()
		if len(asked["a"]) > 0 || len(a.Dismissals.ended) > 0 || len(b.Dismissals.ended) > 0 {
			t.Errorf("of what is forgotten, %q is left, and the answers %v and %v", asked["a"], a.Dismissals.ended, b.Dismissals.ended)
		}
		mu.Unlock()
		stopB()
	})
}

func must(a Assignment, err error) Assignment {
	if err != nil {
		panic(err)
	}
	return a
}
