package membership

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kopf-wasm/kopf/reactor/leadership"
)

func names(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("member-%02d", i)
	}
	return list
}

func keys(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("b8ee4dfb-913e-4a95-8fd9-%012x", i)
	}
	return list
}

func TestSharesAreAboutEqual(t *testing.T) {
	t.Parallel()
	const objects = 20000
	for _, n := range []int{1, 2, 3, 10, maxMembers} {
		counts := map[string]int{}
		a := Assignment{Members: names(n)}
		for _, key := range keys(objects) {
			counts[a.Owner(key)]++
		}
		if len(counts) != n {
			t.Errorf("%d of %d members own objects", len(counts), n)
		}
		for member, count := range counts {
			if fair := objects / n; count < fair*3/4 || count > fair*5/4 {
				t.Errorf("%d members: %s owns %d objects", n, member, count)
			}
		}
	}
}

func TestOnlyObjectsOfMembersThatComeOrGoMove(t *testing.T) {
	t.Parallel()
	all := names(10)
	before, without := Assignment{Members: all}, Assignment{Members: slices.Delete(slices.Clone(all), 3, 4)}
	moved := 0
	for _, key := range keys(5000) {
		was, is := before.Owner(key), without.Owner(key)
		if was != is {
			moved++
		}
		if was != is && was != all[3] {
			t.Fatalf("%s moves from %s to %s", key, was, is)
		}
	}
	if moved < 300 || moved > 700 {
		t.Errorf("%d of 5000 objects move", moved)
	}
}

// The owners are a part of the protocol: replicas of two versions must agree.
func TestOwnersNeverChangeBetweenVersions(t *testing.T) {
	t.Parallel()
	a := Assignment{Members: names(5)}
	owners := ""
	for _, key := range keys(12) {
		owner := a.Owner(key)
		owners += owner[len(owner)-1:]
	}
	if owners != "203404414134" {
		t.Errorf("got %s", owners)
	}
	if (Assignment{}).Owner("x") != "" {
		t.Error("there is an owner without members")
	}
}

func TestNotesAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	a := Assignment{Generation: 7, Members: names(3), Previous: names(2), Unsettled: names(1)}
	got, err := parse(a.String())
	if err != nil || got.String() != a.String() {
		t.Errorf("got %v, %v", got, err)
	}
	for _, note := range []string{
		"x", `{"generation":-1}`, `{"generation":9223372036854775807,"members":["a"]}`, `{"generation":1e30}`,
		Assignment{Generation: 1, Members: names(maxMembers + 1)}.String(), Assignment{Generation: 1, Unsettled: names(maxMembers + 1)}.String(),
	} {
		if _, err := parse(note); err == nil {
			t.Errorf("a note that is no assignment is taken: %.100s", note)
		}
	}
	if got := acknowledgedOn(leadership.Lease{Note: "9223372036854775807"}); got != 0 {
		t.Errorf("an acknowledgement of no assignment is %d", got)
	}
	if got, err := parse(""); err != nil || got.Generation != 0 {
		t.Errorf("without a note: %v, %v", got, err)
	}
}

func TestNextAssignmentWaitsForAcknowledgements(t *testing.T) {
	t.Parallel()
	acknowledged, ended := map[string]int64{}, map[string]bool{}
	c := census{
		living: []string{"a", "b", "c"}, ended: func(m string) bool { return ended[m] },
		acknowledged: func(m string) int64 { return acknowledged[m] },
	}
	step := func(a Assignment, want string) Assignment {
		t.Helper()
		next := a.next(c)
		if got := fmt.Sprint(next.Generation, next.Members, next.Previous, next.Unsettled); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		return next
	}
	a := initial(2, []string{"b", "a"})
	a = step(a, "2 [a b] [] [a b]")
	acknowledged["a"] = 2
	a = step(a, "2 [a b] [] [b]")
	acknowledged["b"] = 2
	a = step(a, "3 [a b c] [a b] [a b]")
	acknowledged["b"] = 3
	a = step(a, "3 [a b c] [a b] [a]")
	ended["a"], c.living = true, []string{"b", "c"}
	a = step(a, "4 [b c] [a b c] [b c]")
	acknowledged["b"], acknowledged["c"] = 4, 4
	step(a, "4 [b c] [a b c] []")
}

func TestMembersAreLimited(t *testing.T) {
	t.Parallel()
	a := initial(2, names(maxMembers-1))
	a.Unsettled = nil
	next := a.next(census{living: names(maxMembers + 5), ended: func(string) bool { return false }})
	if len(next.Members) != maxMembers {
		t.Errorf("there are %d members", len(next.Members))
	}
}

// TestRightsNeverOverlap checks the rules of rights on all members of two generations: an object that a member kept or may
// begin with is no object that another one may still be working on.
func TestRightsNeverOverlap(t *testing.T) {
	t.Parallel()
	old := Assignment{Generation: 4, Members: []string{"a", "b", "c"}, Previous: []string{"a", "b", "c"}}
	next := Assignment{Generation: 5, Members: []string{"b", "c", "d"}, Previous: old.Members, Unsettled: []string{"b", "c"}}
	for _, key := range keys(1000) {
		for _, taker := range next.Members {
			if !newRights(next, taker).may(key) {
				continue
			}
			for _, working := range next.Unsettled { // has not seen the generation 5
				if working != taker && newRights(old, working).may(key) {
					t.Fatalf("%s begins with %s, which %s may handle", taker, key, working)
				}
			}
		}
	}
}

func TestListingsAreNeededOnlyForGains(t *testing.T) {
	t.Parallel()
	of := func(generation int64, members, previous, unsettled []string) Assignment {
		return Assignment{Generation: generation, Members: members, Previous: previous, Unsettled: unsettled}
	}
	settled := Assignment{Generation: 4, Members: []string{"a", "b"}, Previous: []string{"a", "b"}}
	for name, tt := range map[string]struct {
		before, now Assignment
		member      string
		grown       bool
	}{
		"another joins":         {settled, of(5, []string{"a", "b", "c"}, settled.Members, settled.Members), "a", false},
		"another leaves":        {settled, of(5, []string{"a"}, settled.Members, []string{"a"}), "a", true},
		"it joins":              {settled, of(5, []string{"a", "b", "c"}, settled.Members, settled.Members), "c", false},
		"the first is settled":  {of(5, []string{"a", "b", "c"}, settled.Members, settled.Members), of(5, []string{"a", "b", "c"}, settled.Members, []string{"b"}), "c", true},
		"it missed generations": {Assignment{}, settled, "a", true},
		"it is no member":       {Assignment{}, settled, "x", false},
		"all must acknowledge":  {Assignment{}, of(2, []string{"a"}, nil, []string{"a"}), "a", false},
		"all have acknowledged": {of(2, []string{"a"}, nil, []string{"a"}), of(2, []string{"a"}, nil, nil), "a", true},
		"nothing is new":        {settled, settled, "a", false},
	} {
		if got := newRights(tt.now, tt.member).grown(newRights(tt.before, tt.member)); got != tt.grown {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// Owner returns the member to which the object with a key belongs; empty without members.
func (a Assignment) Owner(key string) string { return newOwners(a.Members).of(key) }
