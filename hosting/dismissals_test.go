package hosting

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/kopf-wasm/kopf/hosting/api"
)

// answering is a replica that notes its questions and its orders.
type answering struct {
	*fixedReplica
	answers, dismissed []string
}

func (a *answering) Answer(uid string) { a.answers = append(a.answers, uid) }

func (a *answering) Dismiss(uid string) bool {
	a.dismissed = append(a.dismissed, uid)
	return false
}

func newDismissals(ctx context.Context) (*dismissals, *answering) {
	r := &answering{fixedReplica: newFixedReplica(ctx)}
	return &dismissals{replica: r, running: map[string]int{}, never: map[string]bool{}, leaving: map[Key]string{}}, r
}

// TestDismissalsAreForgotten: when the declaration is gone, nothing is left of its operator, and no leader asks. Until then, the
// operator does not begin, and a new leader is answered again.
func TestDismissalsAreForgotten(t *testing.T) {
	d, r := newDismissals(t.Context())
	if !d.begin("runs") || !d.add([]string{"runs", "unseen", "idle"}) || !slices.Equal(r.answers, []string{"unseen", "idle"}) {
		t.Fatalf("answers: %q", r.answers)
	}
	d.gone("runs")
	d.gone("idle")
	d.gone("other")
	d.add([]string{"idle"})
	if !slices.Equal(r.answers, []string{"unseen", "idle", "idle"}) || d.begin("idle") || d.begin("runs") || d.begin("unseen") {
		t.Errorf("answers: %q; never: %v", r.answers, d.never)
	}
	d.end("runs")
	if !slices.Equal(r.answers[3:], []string{"runs"}) {
		t.Errorf("answers: %q", r.answers)
	}
	if d.add(nil); len(d.never) != 1 || !d.has("unseen") {
		t.Errorf("never: %v", d.never)
	}
	if d.add([]string{"unseen"}) || !slices.Equal(r.answers[4:], []string{"unseen"}) {
		t.Errorf("a new leader is answered %q", r.answers)
	}
}

// TestDismissalsOfOneNamespaceDelayNoOther: the hosts dismiss a bounded number of operators at once.
func TestDismissalsOfOneNamespaceDelayNoOther(t *testing.T) {
	d, r := newDismissals(t.Context())
	of := func(namespace string, i int) Key {
		return Key{Kind: api.Namespaced, Namespace: namespace, Name: fmt.Sprint(i)}
	}
	for i := range 2 * maxDismissed {
		d.dismiss(of("many", i), fmt.Sprint(i))
	}
	d.dismiss(of("one", 0), "one")
	if len(r.dismissed) != maxDismissed+1 || r.dismissed[maxDismissed] != "one" {
		t.Errorf("dismissed: %q", r.dismissed)
	}
	d.dismiss(of("many", 0), "0") // it is asked again, and not counted twice
	d.forget(of("many", 1))
	d.dismiss(of("many", maxDismissed), "next")
	if !slices.Equal(r.dismissed[maxDismissed+1:], []string{"0", "next"}) {
		t.Errorf("dismissed: %q", r.dismissed[maxDismissed:])
	}
}
