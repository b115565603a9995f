package handling

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
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

// connected makes a cause whose handlers may make requests to a server.
func connected(t *testing.T, account *accounts.Account, handler http.HandlerFunc) (cause *Cause, url string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	host, err := calls.ParseHost(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, &reactortest.Scripted{}, `{}`)
	s.cause.Account = account
	s.cause.Caller = calls.New(calls.Options{Grants: calls.Grants{Hosts: []calls.Host{host}}}, func() *clients.Client { return nil })
	t.Cleanup(s.cause.Caller.Close)
	return s.cause, server.URL
}

// talkOf lets a guest make a request to a server, whose URL it stores.
func talkOf(t *testing.T, task guests.Task, url *string, account *accounts.Account, first func() *abi.Step, handler http.HandlerFunc) error {
	t.Helper()
	s := newStage(t, &reactortest.Scripted{}, `{}`)
	s.cause, *url = connected(t, account, handler)
	c := &Conversation{Execution: s.x, Handler: s.handler(t, `{"id":"fn","resource":{"args":["x"]}}`), Cause: s.cause, Task: task}
	defer c.Close(t.Context())
	return c.run(t.Context(), first())
}

// talk lets a patient guest make a request to a server.
func talk(t *testing.T, p *patient, handler http.HandlerFunc) error {
	t.Helper()
	return talkOf(t, p, &p.url, nil, p.first, handler)
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
	s.cause.Caller = calls.New(calls.Options{}, func() *clients.Client { return nil })
	got, err := s.x.Attempt(t.Context(), s.handler(t, `{"id":"fn","resource":{"args":["x"]}}`), s.cause, fresh(0, 0))
	if err != nil || got.final || !strings.Contains(got.Message, "none is under way") {
		t.Errorf("got %+v, %v", got, err)
	}
}

// lazy is a guest that makes a request, and looks at the answer much later.
type lazy struct {
	patient
	account *accounts.Account
	held    []int // before each answer
}

func (p *lazy) Resume(ctx context.Context, answer abi.Answer) (*abi.Step, error) {
	p.held = append(p.held, reactortest.Held(p.account, accounts.Answers))
	return p.patient.Resume(ctx, answer)
}

// TestAnswersCountBeforeTheyAreAskedFor: a guest can let its request continue, and do something else for hours.
func TestAnswersCountBeforeTheyAreAskedFor(t *testing.T) {
	const size = 100_000
	for _, tt := range []struct{ limit, held int }{{1 << 20, size + 2}, {size, 0}} {
		account := accounts.New(accounts.Limits{AnswerMemory: tt.limit})
		p := &lazy{account: account, patient: patient{tolerates: 1 << 20}}
		p.empty = func() {
			for len(p.held) == 1 && reactortest.Held(account, accounts.Answers) < tt.held {
				time.Sleep(time.Millisecond) // the answer comes while the guest does not wait for it
			}
		}
		err := talkOf(t, p, &p.url, account, p.first, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", size)) })
		if err != nil {
			t.Fatal(err)
		}
		last := p.answers[len(p.answers)-1]
		if tt.held > 0 && (last.Response == nil || p.held[len(p.held)-1] < tt.held) {
			t.Errorf("%d bytes are held before an answer: %v", p.held[len(p.held)-1], last.Error)
		}
		if tt.held == 0 && (last.Error == nil || !strings.Contains(last.Error.Message, "AnswerMemory")) {
			t.Errorf("the answer beyond the limit: %+v", last)
		}
		if n := reactortest.Held(account, accounts.Answers); n != 0 {
			t.Errorf("%d bytes are held afterwards", n)
		}
	}
}

// TestAnswersOfAbandonedRequestsAreGivenBack: and so are those that a plugin has.
func TestAnswersOfAbandonedRequestsAreGivenBack(t *testing.T) {
	account := accounts.New(accounts.Limits{})
	p := &lazy{account: account, patient: patient{tolerates: 1}}
	p.empty = func() {
		for reactortest.Held(account, accounts.Answers) == 0 {
			time.Sleep(time.Millisecond)
		}
		p.tolerates = 0
	}
	stops := func() *abi.Step { return p.first() }
	if err := talkOf(t, &abandoning{p}, &p.url, account, stops, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "answer") }); err != nil {
		t.Fatal(err)
	}
	if n := reactortest.Held(account, accounts.Answers); n != 0 {
		t.Errorf("%d bytes are held afterwards", n)
	}
}

// abandoning ends when an answer is there that it has not seen.
type abandoning struct{ *lazy }

func (p *abandoning) Resume(context.Context, abi.Answer) (*abi.Step, error) {
	p.empty()
	return &abi.Step{Step: abi.StepDone}, nil
}

// TestRequestsCountUntilTheyAreAnswered: many of them wait for their turn.
func TestRequestsCountUntilTheyAreAnswered(t *testing.T) {
	const size = 100_000
	account := accounts.New(accounts.Limits{AnswerMemory: 3 * size})
	held := 0
	p := &lazy{account: account, patient: patient{}}
	post := func() *abi.Step {
		step := p.first()
		step.Call.Method, step.Call.Body, step.Seconds = http.MethodPost, abi.Raw(`"`+strings.Repeat("x", size)+`"`), nil
		return step
	}
	if err := talkOf(t, p, &p.url, account, post, func(http.ResponseWriter, *http.Request) { held = reactortest.Held(account, accounts.Answers) }); err != nil {
		t.Fatal(err)
	}
	if held < 2*size {
		t.Errorf("%d bytes are held for a request of %d", held, size)
	}
	if err := account.Take(accounts.Answers, 2*size); err != nil {
		t.Fatal(err)
	}
	p.answers = nil
	if err := talkOf(t, p, &p.url, account, post, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") }); err != nil {
		t.Fatal(err)
	}
	if len(p.answers) != 1 || p.answers[0].Error == nil || !strings.Contains(p.answers[0].Error.Message, "AnswerMemory") {
		t.Errorf("answers %+v", p.answers)
	}
}

// TestAnswersOfPluginsCountUntilTheyHaveThem: their requests end with the context of the request.
func TestAnswersOfPluginsCountUntilTheyHaveThem(t *testing.T) {
	account := accounts.New(accounts.Limits{})
	cause, url := connected(t, account, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "answer") })
	ctx, cancel := context.WithCancel(t.Context())
	answer := (&Env{Cause: cause}).Call(ctx, &abi.Call{Target: abi.TargetHTTP, Method: http.MethodGet, Path: url})
	if answer.Response == nil || reactortest.Held(account, accounts.Answers) == 0 {
		t.Errorf("%+v, %d bytes are held", answer, reactortest.Held(account, accounts.Answers))
	}
	cancel()
	for reactortest.Held(account, accounts.Answers) != 0 {
		time.Sleep(time.Millisecond)
	}
}

// TestKeptAnswersCountAsAnswers: those that the host keeps until the guest fetches them.
func TestKeptAnswersCountAsAnswers(t *testing.T) {
	account := accounts.New(accounts.Limits{AnswerMemory: 100})
	e := &Env{Cause: &Cause{Object: &Object{Services: &Services{Account: account}}}}
	if err := e.Keep(abi.TagAnswer, 100); err != nil || reactortest.Held(account, accounts.Answers) != 100 {
		t.Errorf("%v, %d bytes are held", err, reactortest.Held(account, accounts.Answers))
	}
	if err := e.Keep(abi.TagAnswer, 101); err == nil {
		t.Error("more than the limit is kept")
	}
	_ = e.Keep(abi.TagDiff, 10)
	if e.forget(); reactortest.Held(account, accounts.Answers)+reactortest.Held(account, accounts.Pending) != 0 {
		t.Errorf("%+v afterwards", account.Usage())
	}
}

// TestDefectsInRequestsEndTheRequest: it is made on a goroutine of its own, whose panic would end all operators of the process.
func TestDefectsInRequestsEndTheRequest(t *testing.T) {
	cause, url := connected(t, nil, func(http.ResponseWriter, *http.Request) {})
	host, _ := calls.ParseHost(url)
	cause.Caller = calls.New(calls.Options{Grants: calls.Grants{Hosts: []calls.Host{host}}, Withhold: func(string, string, []byte) { panic("a defect") }}, nil)
	p := &patient{url: url}
	c := &Conversation{Cause: cause, Task: p}
	defer c.Close(t.Context())
	step := p.first()
	step.Call.Method, step.Seconds = http.MethodPost, nil
	answer, err := c.fulfil(t.Context(), step)
	if err != nil || answer.Error == nil || !strings.Contains(answer.Error.Message, "a defect") {
		t.Errorf("%+v, %v", answer, err)
	}
}

// restless is a guest that waits for something else after it has made a request, whatever it says about that request.
type restless struct{ patient }

func (r *restless) Resume(_ context.Context, answer abi.Answer) (*abi.Step, error) {
	if r.answers = append(r.answers, answer); len(r.answers) == 1 {
		return &abi.Step{Step: abi.StepWait, Continue: true, Seconds: new(float64)}, nil
	}
	return &abi.Step{Step: abi.StepCall, Continue: true}, nil
}

// TestOtherStepsAbandonRequests: only a step of the kind call continues one.
func TestOtherStepsAbandonRequests(t *testing.T) {
	r := &restless{}
	err := talkOf(t, r, &r.url, nil, r.first, func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })
	if err == nil || !strings.Contains(err.Error(), "none is under way") {
		t.Errorf("error %v", err)
	}
}

// TestHeadersCountAsTheirMemory: a header with an empty value, or with none, takes many times as much as its name.
func TestHeadersCountAsTheirMemory(t *testing.T) {
	const headers = 1000
	for _, values := range [][]string{nil, {""}} {
		account, held := accounts.New(accounts.Limits{}), 0
		cause, url := connected(t, account, func(http.ResponseWriter, *http.Request) { held = reactortest.Held(account, accounts.Answers) })
		call := &abi.Call{Target: abi.TargetHTTP, Method: http.MethodGet, Path: url, Headers: map[string][]string{}}
		for i := range headers {
			call.Headers[fmt.Sprint("x-", i)] = values
		}
		if answer := (&Env{Cause: cause}).Call(t.Context(), call); answer.Error != nil || held < 100*headers {
			t.Errorf("%d headers of %d values: %d bytes are held, %+v", headers, len(values), held, answer.Error)
		}
	}
}

// TestAnswersCountWhileTheyArrive: a server can send a large part of an answer, and then nothing.
func TestAnswersCountWhileTheyArrive(t *testing.T) {
	for name, send := range map[string]func(w http.ResponseWriter){
		"a body": func(w http.ResponseWriter) { _, _ = w.Write(make([]byte, 2<<20)) },
		"headers": func(w http.ResponseWriter) {
			for i := range 6000 {
				w.Header()[fmt.Sprintf("%x", i)] = []string{""}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			account := accounts.New(accounts.Limits{AnswerMemory: 1 << 19})
			cause, url := connected(t, account, func(w http.ResponseWriter, r *http.Request) {
				send(w)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
			answer := (&Env{Cause: cause}).Call(t.Context(), &abi.Call{Target: abi.TargetHTTP, Method: http.MethodGet, Path: url})
			if answer.Error == nil || answer.Error.Type != abi.CallTooLarge || !strings.Contains(answer.Error.Message, "AnswerMemory") {
				t.Errorf("%+v", answer.Error)
			}
			if held := reactortest.Held(account, accounts.Answers); held != 0 {
				t.Errorf("%d bytes are held afterwards", held)
			}
		})
	}
}

// TestAnswersCountUntilTheyAreEncoded: an operator that has used up its computing time waits with what it has decompressed.
func TestAnswersCountUntilTheyAreEncoded(t *testing.T) {
	const size = 3 << 20
	account := accounts.New(accounts.Limits{})
	cause, url := connected(t, account, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		_, _ = zip.Write(bytes.Repeat([]byte("x"), size))
		_ = zip.Close()
	})
	host, err := calls.ParseHost(url)
	if err != nil {
		t.Fatal(err)
	}
	var held []int
	compute := func(_ context.Context, do func()) {
		held = append(held, reactortest.Held(account, accounts.Answers))
		do()
	}
	cause.Caller = calls.New(calls.Options{Grants: calls.Grants{Hosts: []calls.Host{host}}, Compute: compute}, nil)
	defer cause.Caller.Close()
	answer := (&Env{Cause: cause}).Call(t.Context(), &abi.Call{Target: abi.TargetHTTP, Method: http.MethodGet, Path: url})
	if answer.Response == nil || len(held) != 2 || held[0] == 0 || held[0] >= size || held[1] < size {
		t.Errorf("%+v, before each turn %v bytes are held", answer.Error, held)
	}
}

// TestAllTextsOfCallsCount: a call waits for a turn to be decoded and checked, and a guest chooses each of its texts.
func TestAllTextsOfCallsCount(t *testing.T) {
	const size = 1 << 20
	long := strings.Repeat("x", size)
	for name, call := range map[string]*abi.Call{
		"method":   {Target: abi.TargetHTTP, Method: long},
		"encoding": {Target: abi.TargetHTTP, Method: http.MethodPost, Encoding: long},
		"path":     {Target: abi.TargetHTTP, Method: http.MethodGet, Path: "https://example.com/" + long[:60<<10]},
	} {
		account := accounts.New(accounts.Limits{})
		held := 0
		compute := func(_ context.Context, do func()) {
			held = reactortest.Held(account, accounts.Answers)
			do()
		}
		cause, _ := connected(t, account, nil)
		cause.Caller = calls.New(calls.Options{Compute: compute}, nil)
		call.Body = abi.Raw(`"` + strings.Repeat("y", 8<<10) + `"`)
		answer := (&Env{Cause: cause}).Call(t.Context(), call)
		cause.Caller.Close()
		if want := len(call.Method) + len(call.Encoding) + len(call.Path) + len(call.Body); answer.Error == nil || held < want {
			t.Errorf("%s: %+v, %d bytes are held, and the call has %d", name, answer.Error, held, want)
		}
	}
}
