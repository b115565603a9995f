package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/hosting/facts"
	"github.com/kopf-wasm/kopf/operator/explanation"
)

// The text says all that is known, and texts of others stay on their line.
func TestExplanationAsText(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	e := &explained{
		Modules: []explainedModule{{"op.wasm", "sha256:0123456789abcdef"}},
		Explanation: &explanation.Explanation{
			Object: explanation.Object{Resource: "widgets.v1.kopf.dev", Namespace: "ns", Name: "w"},
			Cause: explanation.Cause{
				Reason: "update", Why: "the object differs", AtStart: "update", Resuming: true,
				Diff: []explanation.Change{{Op: "add", Field: "a", New: 1}, {Op: "remove", Field: "b", Old: "x\ny"}, {Op: "change", Field: "c", Old: false, New: true}},
			},
			Handlers: []explanation.Handler{
				{ID: "first", Kind: abi.KindUpdate, Verdict: explanation.Delayed, Progress: &explanation.Progress{
					ID: "first", Purpose: "update", Attempts: 2, Next: &at, Error: "boo\nfoo", Subhandlers: []explanation.Progress{{ID: "first/sub", Success: true}, {ID: "first/bad", Failure: true}, {ID: "first/due", Due: at}},
				}},
				{ID: "first", Kind: abi.KindResume, Verdict: explanation.Excluded, Why: []string{"it is for resuming"}, Progress: &explanation.Progress{ID: "first", Attempts: 2, Next: &at}},
				{ID: "second", Kind: abi.KindEvent, Verdict: explanation.Excluded, Why: []string{"one", "two"}},
			},
			Finalizers: explanation.Finalizers{Own: "our/f", Present: true, RequiredBy: []string{"first"}, Foreign: []string{"their/f"}},
			Deletion:   &explanation.Deletion{Since: "then", BlockedBy: []string{"first: due"}},
			Peers:      []explanation.Peer{{Object: "kopfpeerings.kopf.dev ns/default", Identity: "me", Priority: 5, LastSeen: at, Dead: true}},
			Notes:      []string{"it is unknown"},
		},
		Hosted: []hostedOperator{
			{Operator: facts.Operator{Namespace: "ns", Name: "op", Ready: true, Errors: []facts.Error{{Message: "old"}, {Message: "new"}}}, Object: &facts.Object{Known: true, Working: true, Waiting: 2, Sleeps: "retry", Until: &at, Daemons: []string{"watch", "x\ny"}}},
			{Operator: facts.Operator{Namespace: "ns", Name: "old"}},
		},
	}
	var text bytes.Buffer
	if err := e.print(&text); err != nil {
		t.Fatal(err)
	}
	want := `Object:       widgets.v1.kopf.dev ns/w
Module:       op.wasm sha256:0123456789ab
Cause:        update: the object differs
At a start:   update, with the handlers for resuming

Changes since the last handled state:
  add      a   1
  remove   b   was "x\ny"
  change   c   false -> true

HANDLER   KIND     CALLED    WHY
first     update   delayed   the next attempt is at 2026-01-01T12:00:00Z
first     resume   no        it is for resuming
second    event    no        one
                             two

PROGRESS    PURPOSE   ATTEMPTS   STATE                            LAST ERROR
first       update    2          next at 2026-01-01T12:00:00Z     boo\nfoo
first/sub   -         0          succeeded                        -
first/bad   -         0          failed                           -
first/due   -         0          due since 2026-01-01T12:00:00Z   -

FINALIZER   OF                   STATE
our/f       this operator        present, needed by first
their/f     another controller   present

The object is being deleted since then. It waits for:
  first: due

PEER   PRIORITY   LAST SEEN                     IN
me     5          2026-01-01T12:00:00Z (dead)   kopfpeerings.kopf.dev ns/default

HOSTED   READY   PAUSED   LAST ERROR
ns/op    true    false    new
ns/old   false   false    -

NOW     STATE                                                   WAITING EVENTS   DAEMONS AND TIMERS
ns/op   waits for the next attempt until 2026-01-01T12:00:00Z   2                watch, x\ny

Note: it is unknown.
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatOperatorsDoForAnObject(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		object facts.Object
		want   string
	}{
		{facts.Object{}, "the object is not in memory"},
		{facts.Object{Known: true}, "is idle"},
		{facts.Object{Known: true, Waiting: 1}, "waits for a worker"},
		{facts.Object{Known: true, Working: true}, "is handled"},
		{facts.Object{Known: true, Sleeps: "throttled", Until: &at}, "is throttled after an unexpected error until 2026-01-01T12:00:00Z"},
		{facts.Object{Known: true, Sleeps: "newer"}, "waits: newer"},
	} {
		if got := doing(&tt.object); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.object, got, tt.want)
		}
	}
}

// TestHostsAreAskedAboutTheObject: a host that does not know the path is noted, and the rest is valid.
func TestHostsAreAskedAboutTheObject(t *testing.T) {
	_, url := serving(t)
	o := &explainOptions{}
	o.url = url
	e := &explained{
		Modules:     []explainedModule{{Digest: "sha256:0123456789abcdef0123"}},
		Explanation: &explanation.Explanation{Object: explanation.Object{UID: "u"}},
	}
	o.askHost(t.Context(), e)
	if len(e.Hosted) != 1 || e.Hosted[0].Object == nil || !cmp.Equal(e.Hosted[0].Object.Daemons, []string{"watch of u"}) || len(e.Notes) > 0 {
		t.Errorf("hosted: %+v, notes: %v", e.Hosted, e.Notes)
	}
	older := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/statusz" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"schema":"`+facts.Schema+`","operators":[{"kind":"WasmOperator","namespace":"a","name":"b","module":{"digest":"sha256:0123456789abcdef0123"}}]}`)
	}))
	defer older.Close()
	e.Hosted, o.url = nil, older.URL
	o.askHost(t.Context(), e)
	if len(e.Hosted) != 1 || e.Hosted[0].Object != nil || len(e.Notes) != 1 || !strings.HasPrefix(e.Notes[0], "What a/b does for the object is unknown: ") {
		t.Errorf("hosted: %+v, notes: %v", e.Hosted, e.Notes)
	}
}
