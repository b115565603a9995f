package traces

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// names returns the texts of the attributes of a resource.
func names(of *resource) map[string]string {
	found := map[string]string{}
	for _, a := range of.Attributes {
		found[a.Key] += *a.Value.Text // a second one would show
	}
	return found
}

// sum returns the names of all resources of a collector, with their numbers of spans.
func (c *collector) sum() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string]int{}
	for _, r := range c.requests {
		for _, of := range r.ResourceSpans {
			found[names(&of.Resource)["service.name"]] += len(of.ScopeSpans[0].Spans)
		}
	}
	return found
}

func counts(t tracing.Tracer) [2]int {
	sent, dropped := t.(*Source).Counts()
	return [2]int{int(sent), int(dropped)} //nolint:gosec // counts
}

// TestSpansHaveTheNamesOfTheirOperator: as attributes of the resource, which no text of a span changes.
func TestSpansHaveTheNamesOfTheirOperator(t *testing.T) {
	forged := `x"},{"key":"kopf.operator.name","value":{"stringValue":"victim"}}],"kopf.operator.name":"victim`
	for service, want := range map[string][]map[string]string{
		"": {
			{"service.name": "team/mailer", "kopf.operator.namespace": "team", "kopf.operator.name": "mailer"},
			{"service.name": "mailer", "kopf.operator.name": "mailer"},
		},
		"ours": {
			{"service.name": "ours", "kopf.operator.namespace": "team", "kopf.operator.name": "mailer"},
			{"service.name": "ours", "kopf.operator.name": "mailer"},
		},
	} {
		c := newCollector(t, http.StatusOK, nil)
		e := New(t.Context(), target(t, c.URL, map[string]string{envService: service}), "kopf serve", "", zerolog.Nop())
		for _, tracer := range []tracing.Tracer{e.Operator("team", "mailer"), e.Operator("", "mailer")} {
			span := tracing.Begin(t.Context(), tracer, tracing.Internal, forged)
			span.Set("kopf.handler", forged)
			span.Fail(forged)
			span.End()
		}
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []map[string]string
		for _, r := range c.requests {
			for _, of := range r.ResourceSpans {
				got = append(got, names(&of.Resource))
				if s := of.ScopeSpans[0].Spans[0]; s.Name != forged || len(s.Attributes) != 1 || *s.Attributes[0].Value.Text != forged || s.Status.Message != forged {
					t.Errorf("span %+v", s)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestOneOperatorDoesNotLoseTheSpansOfOthers: while the collector does not answer, an operator fills
// its own queue only; then the operators take turns.
func TestOneOperatorDoesNotLoseTheSpansOfOthers(t *testing.T) {
	block := make(chan struct{})
	c := newCollector(t, http.StatusOK, block)
	e := New(t.Context(), target(t, c.URL, nil), "kopf serve", "", zerolog.Nop())
	loud := e.Operator("team", "loud")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 2 * maxShare {
				loud.Record(record())
			}
		})
	}
	all.Wait()
	const operators, each = 50, 20
	quiet := make([]tracing.Tracer, operators)
	for i := range quiet {
		quiet[i] = e.Operator("team", fmt.Sprint("quiet-", i))
		for range each {
			quiet[i].Record(record())
		}
	}
	close(block)
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, tracer := range quiet {
		if got := counts(tracer); got != [2]int{each, 0} {
			t.Errorf("operator %d: %v are sent and dropped", i, got)
		}
	}
	got := counts(loud)
	if got[0]+got[1] != 8*maxShare || got[1] == 0 || got[0] == 0 {
		t.Errorf("of the loud one, %v are sent and dropped", got)
	}
	if sum := c.sum(); sum["team/loud"] != got[0] || sum["team/quiet-7"] != each || len(sum) != 1+operators {
		t.Errorf("arrived: %v", sum)
	}
	if e.queues.count != 0 || len(e.queues.turns) != 0 {
		t.Error("the queues are not empty")
	}
}

// TestOperatorsTakeTurns: each batch has an equal share of each operator.
func TestOperatorsTakeTurns(t *testing.T) {
	q := newQueues()
	sources := map[string]*Source{}
	for name, spans := range map[string]int{"loud": 500, "few": 3, "some": 40} {
		s := newSource(q, maxQueue, maxQueueBytes, []attribute{textual("service.name", name)})
		sources[name] = s
		for range spans {
			s.Record(record())
		}
	}
	taken := func(most int) map[string]int {
		found := map[string]int{}
		for _, p := range q.take(most) {
			name := names(&resource{p.of.about})["service.name"]
			if _, twice := found[name]; twice {
				t.Errorf("%s has two parts", name)
			}
			found[name] = len(p.spans)
		}
		return found
	}
	for i, want := range []map[string]int{{"loud": 13, "few": 3, "some": 13}, {"loud": 15, "some": 15}, {"loud": 17, "some": 11}, {"loud": 30}} {
		got, sum := taken(30), 0
		for name, count := range got {
			sum += count
			if count < want[name] || count > want[name]+2 { // what is left of equal shares goes to the next in turn
				t.Errorf("batch %d: taken %v, want %v", i, got, want)
			}
		}
		if sum != 30 || len(got) != len(want) {
			t.Errorf("batch %d: taken %v", i, got)
		}
	}
	for len(q.take(maxBatch)) > 0 {
		continue
	}
	for name, s := range sources {
		if s.held != 0 || s.waiting != nil {
			t.Errorf("%s still holds %d bytes", name, s.held)
		}
	}
}

// TestWaitingSpansAreBoundedInBytes: guests and objects supply long texts.
func TestWaitingSpansAreBoundedInBytes(t *testing.T) {
	q := newQueues()
	s := newSource(q, maxShare, maxShareBytes, nil)
	for range maxShare {
		r := record()
		r.Message = strings.Repeat("x", 5000)
		s.Record(r)
	}
	if _, dropped := s.Counts(); dropped == 0 || s.held > maxShareBytes || s.held < maxShareBytes/2 {
		t.Errorf("%d bytes wait, %d spans are dropped", s.held, dropped)
	}
}

// fussy is a collector that refuses requests with a span of some name, or all after some of them.
type fussy struct {
	status int
	name   string
	broken bool // after the first refusal, requests fail

	mu       sync.Mutex // guards the fields below
	refused  int
	accepted []string // services
}

// ServeHTTP takes a request.
func (f *fussy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in request
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken && f.refused > 0 {
		f.refused++
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	for _, of := range in.ResourceSpans {
		if of.ScopeSpans[0].Spans[0].Name == f.name {
			f.refused++
			w.WriteHeader(f.status)
			return
		}
	}
	for _, of := range in.ResourceSpans {
		f.accepted = append(f.accepted, names(&of.Resource)["service.name"])
	}
}

// TestRefusedSpansAreThoseOfOneOperator: a collector that refuses what one operator sends takes the
// spans of the others. A failure of the collector is no reason to repeat requests.
func TestRefusedSpansAreThoseOfOneOperator(t *testing.T) {
	for _, tt := range []struct {
		status   int
		broken   bool
		refused  int
		accepted int
	}{
		{http.StatusBadRequest, false, 2, 9},
		{http.StatusRequestEntityTooLarge, false, 2, 9},
		{http.StatusUnprocessableEntity, false, 2, 9},
		{http.StatusForbidden, false, 1, 0},
		{http.StatusServiceUnavailable, false, 1, 0},
		{http.StatusBadRequest, true, 2, 0},
	} {
		f := &fussy{status: tt.status, name: "odd", broken: tt.broken}
		c := newCollector(t, 0, nil)
		c.Config.Handler = f
		e := New(t.Context(), target(t, c.URL, nil), "kopf serve", "", zerolog.Nop())
		all := make([]tracing.Tracer, 10)
		for i := range all {
			all[i] = e.Operator("team", fmt.Sprint(i))
			r := record()
			if i == 3 {
				r.Name = f.name
			}
			all[i].Record(r)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if f.refused != tt.refused || len(f.accepted) != tt.accepted {
			t.Errorf("status %d: %d requests are refused, and %v accepted", tt.status, f.refused, f.accepted)
		}
		for i, tracer := range all {
			want := [2]int{0, 1}
			if tt.accepted > 0 && i != 3 {
				want = [2]int{1, 0}
			}
			if got := counts(tracer); got != want {
				t.Errorf("status %d, operator %d: %v are sent and dropped", tt.status, i, got)
			}
		}
	}
}

// TestSpansAreSentWhileOperatorsRun: the exporter waits neither for a full batch nor for the end.
func TestSpansAreSentWhileOperatorsRun(t *testing.T) {
	c := newCollector(t, http.StatusOK, nil)
	e := New(t.Context(), target(t, c.URL, nil), "kopf serve", "", zerolog.Nop())
	one := e.Operator("team", "one")
	wanted := 0
	for _, more := range []int{1, maxShare} {
		for range more {
			one.Record(record())
		}
		wanted += more
		for limit := time.Now().Add(time.Minute); counts(one)[0] < wanted; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("%d of %d spans are sent", counts(one)[0], wanted)
			}
		}
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
