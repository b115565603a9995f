package handling

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
)

// patient is a guest that waits for a response in pieces. Its last step follows the first
// response, or as many empty answers as it tolerates.
type patient struct {
	guests.Task
	url       string
	tolerates int
	empty     func() // called after each empty answer
	answers   []abi.Answer
}

func (p *patient) first() *abi.Step {
	step := &abi.Step{}
	text := fmt.Sprintf(`{"step":"call","call":{"target":"http","method":"GET","path":%q},"seconds":0}`, p.url)
	if err := json.Unmarshal([]byte(text), step); err != nil {
		panic(err)
	}
	return step
}

func (p *patient) Resume(_ context.Context, answer abi.Answer) (*abi.Step, error) {
	p.answers = append(p.answers, answer)
	if answer.Response != nil || answer.Error != nil || len(p.answers) > p.tolerates {
		return &abi.Step{Step: abi.StepDone}, nil
	}
	p.empty()
	return &abi.Step{Step: abi.StepCall, Continue: true, Seconds: new(float64)}, nil
}

func (p *patient) Release(context.Context) {}

// talk lets a patient guest make a request to a server.
func talk(t *testing.T, p *patient, handler http.HandlerFunc) error {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	host, err := calls.ParseHost(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, &reactortest.Scripted{}, `{}`)
	s.cause.Caller = calls.New(calls.Options{Grants: calls.Grants{Hosts: []calls.Host{host}}}, nil, func() *clients.Client { return nil })
	t.Cleanup(s.cause.Caller.Close)
	p.url = server.URL
	c := &Conversation{Execution: s.x, Handler: s.handler(t, `{"id":"fn","resource":{"args":["x"]}}`), Cause: s.cause, Task: p}
	defer c.Close(t.Context())
	return c.run(t.Context(), p.first())
}

// TestRequestContinuesWhileTheGuestIsResumed shows that a guest gets turns while its request
// is under way, and then the response to that one request.
func TestRequestContinuesWhileTheGuestIsResumed(t *testing.T) {
	resumed := make(chan struct{}, 1)
	p := &patient{tolerates: 1 << 20, empty: func() {
		select {
		case resumed <- struct{}{}:
		default:
		}
	}}
	requests := 0
	err := talk(t, p, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		<-resumed
		fmt.Fprint(w, "late")
	})
	if err != nil || requests != 1 {
		t.Fatalf("%d requests, %v", requests, err)
	}
	if last := p.answers[len(p.answers)-1]; len(p.answers) < 2 || last.Response == nil || string(last.Response.Body) != `"late"` {
		t.Errorf("%d answers, the last is %+v", len(p.answers), last)
	}
}

// TestRequestIsAbandonedByAnotherStep shows that a guest that does not continue a request ends
// it.
func TestRequestIsAbandonedByAnotherStep(t *testing.T) {
	arrived, left := make(chan struct{}), make(chan struct{})
	p := &patient{tolerates: 1, empty: func() { <-arrived }}
	err := talk(t, p, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		close(left)
	})
	if err != nil {
		t.Fatal(err)
	}
	<-left
	if len(p.answers) != 2 || p.answers[1].Response != nil || p.answers[1].Error != nil {
		t.Errorf("answers %+v", p.answers)
	}
}

// TestOnlyARequestContinues shows that a guest cannot continue a request that it has not made.
func TestOnlyARequestContinues(t *testing.T) {
	guest := &reactortest.Scripted{Scripts: map[string][]string{"fn": {`{"step":"call","continue":true}`}}}
	s := newStage(t, guest, `{}`)
	s.cause.Caller = calls.New(calls.Options{}, nil, func() *clients.Client { return nil })
	got, err := s.x.Attempt(t.Context(), s.handler(t, `{"id":"fn","resource":{"args":["x"]}}`), s.cause, fresh(0, 0))
	if err != nil || got.final || !strings.Contains(got.Message, "none is under way") {
		t.Errorf("got %+v, %v", got, err)
	}
}
