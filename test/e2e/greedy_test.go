package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/test/porttest"
)

// held are small limits of what the host keeps.
var held = host.HeldLimits{
	MemoLimit: 512 << 10, MemoMemory: 1 << 20, IndexMemory: 1 << 20, PendingMemory: 256 << 10, BodyMemory: 64 << 10,
	MaxChildren: 100, PatchMemory: 1500 << 10,
}

// TestGreedyOperatorAffectsOnlyItself: a module that lets the host keep ever more for it gets
// errors that name the limits. An operator in the same process handles the same objects, and
// notices nothing.
func TestGreedyOperatorAffectsOnlyItself(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	address := porttest.Unused(t)
	op := s.start(t, options{
		guest: "greedy", host: host.Options{Held: held},
		settings: func(own *settings.Settings) { *own = *apart("greedy") },
		change:   func(o *operator.Options) { o.Listen = address },
	})
	neighbour, _ := s.embedded(t, operator.Options{
		AllowOverlap: true, Settings: apart("neighbour"), Guests: []guests.Guest{native{"neighbour", func(name string, env guests.Env) error {
			_, err := env.MemoSet(0, "name", abi.Raw(fmt.Sprintf("%q", name)), -1)
			return err
		}}},
	})
	<-neighbour.Ready()
	text := strings.Repeat("x", 30_000)
	for _, greed := range []struct{ do, spec, says string }{
		{"index", "", "the limit IndexMemory of 1048576 bytes is reached"},
		{"memo", "", `the memo's key "key5": over a limit of the host`},
		{"operator memo", "", `the memo's key "key5": over a limit of the host`},
		{"children", "", "1000 sub-handlers of one call, but the limit MaxChildren is 100"},
		{"results", "", "the limit PatchMemory of 1536000 bytes is reached"},
		{"body", ", text: " + text + text + text, "the limit BodyMemory of 65536 bytes is reached"},
		{"events", ", number: 0", ""},
	} {
		name := strings.ReplaceAll(greed.do, " ", "-")
		s.create(t, name, "{do: "+greed.do+greed.spec+"}")
		if greed.says != "" {
			op.says(t, name, greed.says)
		}
	}
	const changes = 30
	for number := 1; number <= changes; number++ {
		s.patch(t, "events", fmt.Sprintf(`{"spec":{"number":%d,"text":%q}}`, number, text))
	}
	s.until(t, "the last event is handled", func() bool { return op.lines(fmt.Sprint("event ", changes)) > 0 })
	if seen := op.lines("event "); seen >= changes {
		t.Errorf("%d events were handled: none has waited without its body", seen)
	}
	began := time.Now()
	names := []string{"memo", "operator-memo", "children", "results", "index", "body", "events", "later"}
	s.create(t, "later", "{}")
	for _, name := range names {
		s.until(t, name+" is handled by the neighbour", func() bool {
			status, _ := s.get(t, name).Object["status"].(map[string]any)
			own, _ := status["neighbour"].(map[string]any)
			return own["last-handled-configuration"] != nil
		})
	}
	t.Logf("the neighbour has handled the last object within %v", time.Since(began))
	refused := refusals(t, "http://"+address+"/metrics")
	for _, kind := range []string{"memos", "indices", "pending", "bodies", "children", "patches"} {
		if !slices.Contains(refused, kind) {
			t.Errorf("metrics show no refusals of %s, but of %q", kind, refused)
		}
	}
}

// refusals are the kinds of memory that metrics show refusals of.
func refusals(t *testing.T, url string) (kinds []string) {
	t.Helper()
	rsp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer rsp.Body.Close()
	text, err := io.ReadAll(rsp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, `kopf_held_refusals_total{kind="`)
		if kind, count, _ := strings.Cut(rest, `"} `); ok && strings.TrimSpace(count) != "0" {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
