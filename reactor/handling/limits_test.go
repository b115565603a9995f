package handling

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/functions"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/diffs"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
)

// TestTooManyChildren checks the limit of sub-handlers of one call, in one step or in
// many.
func TestTooManyChildren(t *testing.T) {
	declare := func(from, to int) string {
		var list []string
		for i := from; i < to; i++ {
			list = append(list, fmt.Sprintf(`{"kind":"sub","id":"c%d"}`, i))
		}
		return strings.Join(list, ",")
	}
	for _, tt := range []struct {
		name   string
		script []string
		want   string // in the error; empty: none
	}{
		{"as many as may be", []string{`{"step":"done","lifecycle":"all_at_once","children":[` + declare(0, 10) + `]}`}, ""},
		{"one more", []string{`{"step":"done","lifecycle":"all_at_once","children":[` + declare(0, 11) + `]}`}, "11 sub-handlers of one call, but the limit MaxChildren is 10"},
		{
			"one more by and by",
			[]string{`{"step":"execute","lifecycle":"all_at_once","children":[` + declare(0, 6) + `]}`, `{"step":"execute","lifecycle":"all_at_once","children":[` + declare(6, 11) + `]}`},
			"11 sub-handlers of one call, but the limit MaxChildren is 10",
		},
		{
			"large ones",
			[]string{`{"step":"done","children":[{"kind":"sub","id":"c","param":"` + strings.Repeat("x", 100_000) + `"}]}`},
			"the limit ChildMemory of 50000 bytes is reached",
		},
		{
			"small values of a filter, which take much when they are decoded",
			[]string{`{"step":"done","children":[{"kind":"sub","id":"c","field":["spec"],"value":[` + strings.Repeat(`{"":0},`, 140) + `0]}]}`},
			"the limit ChildMemory of 50000 bytes is reached",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t, &reactortest.Scripted{Scripts: map[string][]string{"fn": tt.script}}, `{"metadata":{"name":"x"}}`)
			s.cause.Account = accounts.New(accounts.Limits{MaxChildren: 10, ChildMemory: 50_000})
			done, err := s.x.Attempt(t.Context(), s.handler(t, `{"id":"fn"}`), s.cause, fresh(0, 0))
			if err != nil {
				t.Fatal(err)
			}
			if done.Failed != (tt.want != "") || !strings.Contains(done.Message, tt.want) {
				t.Errorf("failed: %t, message %q; want %q", done.Failed, done.Message, tt.want)
			}
			if tt.want != "" && (done.final || s.cause.Account.Usage()[accounts.Children].Refused != 1) {
				t.Errorf("final: %t, %d refusals", done.final, s.cause.Account.Usage()[accounts.Children].Refused)
			}
			s.cause.Patch.Release(t.Context(), 0)
			if n := reactortest.Held(s.cause.Account, accounts.Children); n != 0 {
				t.Errorf("%d bytes are held after the cycle", n)
			}
		})
	}
}

// TestLargeOutcomes checks that results, patches and errors count until the end of the
// cycle.
func TestLargeOutcomes(t *testing.T) {
	large := strings.Repeat("x", 60_000)
	for _, outcome := range []string{`"result":[` + strings.Repeat(`{"":0},`, 140) + `0]`, `"patch":{"spec":[` + strings.Repeat(`{"":0},`, 140) + `0]}`, `"result":"` + large + `"`, `"patch":{"spec":"` + large + `"}`, `"error":{"kind":"temporary","message":"` + large + `"}`, `"warnings":["` + large + `"]`} {
		name, _, _ := strings.Cut(outcome, ":")
		t.Run(name, func(t *testing.T) {
			script := []string{`{"step":"done",` + outcome + `}`}
			s := newStage(t, &reactortest.Scripted{Scripts: map[string][]string{"a": script, "b": script}}, `{"metadata":{"name":"x"}}`)
			s.cause.Account = accounts.New(accounts.Limits{PatchMemory: 100_000})
			first, err := s.x.Attempt(t.Context(), s.handler(t, `{"id":"a"}`), s.cause, fresh(0, 0))
			if err != nil || strings.Contains(first.Message, "PatchMemory") {
				t.Fatalf("the first one: %v, %.100s", err, first.Message)
			}
			second, err := s.x.Attempt(t.Context(), s.handler(t, `{"id":"b"}`), s.cause, fresh(0, 0))
			if err != nil || second.final || !strings.Contains(second.Message, "the limit PatchMemory of 100000 bytes is reached") {
				t.Errorf("the second one: %v, final: %t, %.200s", err, second.final, second.Message)
			}
			s.cause.Patch.Release(t.Context(), 0)
			if n := reactortest.Held(s.cause.Account, accounts.Patches); n != 0 {
				t.Errorf("%d bytes are held after the cycle", n)
			}
		})
	}
}

// TestKeptSegmentsCount: a guest that asks for the length of a large diff, and then waits inside of its call, makes the host keep
// the text: each change has its whole path, and \u007f has six bytes in place of one.
func TestKeptSegmentsCount(t *testing.T) {
	members := func(value int) dicts.Object {
		all := dicts.Object{}
		for i := range 500 {
			all[fmt.Sprint(i)] = value
		}
		return dicts.Object{"spec": dicts.Object{strings.Repeat("\x7f", 30_000): all}}
	}
	s := newStage(t, &reactortest.Scripted{}, `{"metadata":{"name":"x"}}`)
	s.cause.Account = accounts.New(accounts.Limits{PendingMemory: 128 << 20})
	s.cause.Kind = &Change{Diff: diffs.Compute(members(1), members(2), diffs.Full)}
	first, second := functions.Task{Env: &Env{Cause: s.cause}}, functions.Task{Env: &Env{Cause: s.cause}}
	data, code := first.Segment(abi.TagDiff)
	if code != functions.OK || len(data) < 80<<20 || reactortest.Held(s.cause.Account, accounts.Pending) != len(data) {
		t.Errorf("%d bytes, code %d, %d are held", len(data), code, reactortest.Held(s.cause.Account, accounts.Pending))
	}
	if _, code := second.Segment(abi.TagDiff); code != abi.ErrnoTooLarge {
		t.Errorf("the second one: %d", code)
	}
	if _, code := second.Segment(abi.TagBody); code != functions.OK {
		t.Errorf("the body: %d", code)
	}
	first.Forget()
	second.Forget()
	if n := reactortest.Held(s.cause.Account, accounts.Pending); n != 0 {
		t.Errorf("%d bytes are held in the end", n)
	}
}

// TestTransformedBodiesCount checks that what transformation functions return counts before it is decoded.
func TestTransformedBodiesCount(t *testing.T) {
	guest := &reactortest.Scripted{Scripts: map[string][]string{"fn": {`{"step":"done","transforms":1}`}}, Edits: func(body dicts.Object) { body["large"] = strings.Repeat("x", 60_000) }}
	s := newStage(t, guest, `{"metadata":{"name":"n"}}`)
	s.cause.Account = accounts.New(accounts.Limits{PatchMemory: 100_000})
	if _, err := s.x.Attempt(t.Context(), s.handler(t, `{"id":"fn"}`), s.cause, fresh(0, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.cause.Patch.Transformed(t.Context(), s.cause.Body, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.cause.Patch.Transformed(t.Context(), s.cause.Body, nil); !errors.Is(err, accounts.ErrLimit) || !errors.Is(err, patching.ErrTransformation) {
		t.Errorf("the second one: %v", err)
	}
	s.cause.Patch.Release(t.Context(), 0)
	if n := reactortest.Held(s.cause.Account, accounts.Patches); n != 0 {
		t.Errorf("%d bytes are held after the cycle", n)
	}
}

// TestDaemonsCountForTheirOperator checks that what daemons keep counts in the account of
// the operator.
func TestDaemonsCountForTheirOperator(t *testing.T) {
	s := newStage(t, &reactortest.Scripted{}, `{"metadata":{"name":"x"}}`)
	s.cause.Account = accounts.New(accounts.Limits{MemoLimit: 1000})
	for _, scope := range []int{0, 1} {
		if _, err := (&Env{Cause: NewCause(s.cause.Alone(), nil)}).MemoSet(scope, "k", reactortest.Text(1000), -1); !errors.Is(err, accounts.ErrLimit) {
			t.Errorf("scope %d: %v", scope, err)
		}
	}
}

// TestWorkOfTheHostCounts checks that what the host computes with large texts of handlers is a part of their computing time.
func TestWorkOfTheHostCounts(t *testing.T) {
	large := strings.Repeat("x", leastWork)
	for outcome, want := range map[string]int{`"result":"` + large + `"`: 1, `"patch":{"spec":"` + large + `"}`: 1, `"result":1,"patch":{"spec":1}`: 0} {
		s := newStage(t, &reactortest.Scripted{Scripts: map[string][]string{"fn": {`{"step":"done",` + outcome + `}`}}}, `{"metadata":{"name":"x"}}`)
		works := 0
		s.cause.Compute = func(_ context.Context, do func()) {
			works++
			do()
		}
		done, err := s.x.Attempt(t.Context(), s.handler(t, `{"id":"fn"}`), s.cause, fresh(0, 0))
		if err != nil || done.Failed || works != want {
			t.Errorf("%.30s: %v, %q; %d pieces of work, want %d", outcome, err, done.Message, works, want)
		}
	}
}

// TestStepsCountWhileTheyWait: a step of megabytes waits until the operator may compute again, and so may those of thousands of objects.
func TestStepsCountWhileTheyWait(t *testing.T) {
	const size = 1 << 20
	large, long := strings.Repeat("x", leastWork), strings.Repeat("y", size)
	for name, step := range map[string]string{
		"result":    `{"step":"done","result":"` + long + `"}`,
		"patch":     `{"step":"done","patch":{"spec":"` + long + `"}}`,
		"error":     `{"step":"done","patch":{"spec":"` + large + `"},"error":{"kind":"permanent","message":"` + long + `"}}`,
		"warnings":  `{"step":"done","result":"` + large + `","warnings":["` + long + `"]}`,
		"children":  `{"step":"done","result":"` + large + `","children":[{"id":"c","value":"` + long + `"}]}`,
		"lifecycle": `{"step":"execute","patch":{"spec":"` + large + `"},"lifecycle":"` + long + `"}`,
	} {
		s := newStage(t, &reactortest.Scripted{Scripts: map[string][]string{"fn": {step}}}, `{"metadata":{"name":"x"}}`)
		s.cause.Account = accounts.New(accounts.Limits{})
		var held []int
		s.cause.Compute = func(_ context.Context, do func()) {
			held = append(held, reactortest.Held(s.cause.Account, accounts.Patches))
			do()
		}
		if _, err := s.x.Attempt(t.Context(), s.handler(t, `{"id":"fn"}`), s.cause, fresh(0, 0)); err != nil || len(held) == 0 || held[0] < size {
			t.Errorf("%s: %v; before each piece of work, %v bytes are held", name, err, held)
		}
	}
}

// TestStepsCountWhenTheyArrive: daemons and timers decode the body of the object before they take a step, and wait for that.
func TestStepsCountWhenTheyArrive(t *testing.T) {
	const size = 1 << 20
	long := strings.Repeat("x", size)
	s := newStage(t, &reactortest.Scripted{Scripts: map[string][]string{"fn": {`{"step":"wait"}`, `{"step":"done","result":"` + long + `"}`}}}, `{"metadata":{"name":"x"}}`)
	s.cause.Account = accounts.New(accounts.Limits{})
	talk, step, err := s.x.Open(t.Context(), s.handler(t, `{"id":"fn"}`), s.cause, fresh(0, 0), &Env{Cause: s.cause})
	held := []int{reactortest.Held(s.cause.Account, accounts.Patches)}
	if err == nil && step.Step == abi.StepWait {
		_, err = talk.Resume(t.Context(), abi.Answer{})
	}
	held = append(held, reactortest.Held(s.cause.Account, accounts.Patches))
	talk.Close(t.Context())
	held = append(held, reactortest.Held(s.cause.Account, accounts.Patches))
	if err != nil || held[0] != 0 || held[1] < size || held[2] != 0 {
		t.Errorf("%v; %v bytes are held while it waits, then, and after its end", err, held)
	}
	s.cause.Account = accounts.New(accounts.Limits{PatchMemory: size / 2})
	s.guest.Scripts["fn"] = s.guest.Scripts["fn"][1:]
	talk, step, err = s.x.Open(t.Context(), s.handler(t, `{"id":"fn"}`), s.cause, fresh(0, 0), &Env{Cause: s.cause})
	talk.Close(t.Context())
	if step != nil || !errors.Is(err, accounts.ErrLimit) {
		t.Errorf("without room for it: %v, and it is kept: %t", err, step != nil)
	}
}

// TestManyFiltersCount: evaluating those of thousands of handlers, or thousands of one handler, is computing of the operator, however small
// the object is: it may be changed hundreds of times a second.
func TestManyFiltersCount(t *testing.T) {
	labels := `"z":"no"`
	for i := range 100 {
		labels += fmt.Sprintf(`,"l%d":{"$":"ABSENT"}`, i)
	}
	for _, tt := range []struct {
		handlers int
		options  string
		want     int
	}{{3, `"labels":{"a":"b"}`, 0}, {100, `"labels":{"a":"b"}`, 1}, {1, `"labels":{` + labels + `}`, 1}} {
		s := newStage(t, &reactortest.Scripted{}, `{"metadata":{"name":"x"}}`)
		works := 0
		s.cause.Compute = func(_ context.Context, do func()) {
			works++
			do()
		}
		var handlers []*registries.Handler
		for i := range tt.handlers {
			handlers = append(handlers, s.handler(t, fmt.Sprintf(`{"kind":"event","id":"h%d",%s}`, i, tt.options)))
		}
		if found, err := s.cause.Match(t.Context(), handlers); err != nil || len(found) > 0 || works != tt.want {
			t.Errorf("%d handlers: %d match, %v; %d pieces of work, want %d", tt.handlers, len(found), err, works, tt.want)
		}
	}
}

// deciding is a guest whose filters all hold. It notes the sizes of the values that it is asked about at once.
type deciding struct {
	reactortest.Scripted
	account *accounts.Account
	sizes   []int
}

func (g *deciding) Ask(_ context.Context, q *abi.Questions, _ []byte, _ guests.Env) (*abi.Answers, error) {
	size, answers := 0, &abi.Answers{}
	for _, question := range q.Questions {
		size += sizeOfValues(question)
		answers.Answers = append(answers.Answers, abi.Verdict{Value: abi.Raw("true")})
	}
	g.sizes = append(g.sizes, size)
	if held := reactortest.Held(g.account, accounts.Pending); held < size {
		return nil, fmt.Errorf("%d bytes are held of %d", held, size)
	}
	return answers, nil
}

// TestManyFiltersOfALargeField: filters that are functions get its text in several questions, which take memory only until they are answered.
func TestManyFiltersOfALargeField(t *testing.T) {
	const size, count = 100_000, 1000
	account := accounts.New(accounts.Limits{PendingMemory: 10 * size})
	guest := &deciding{account: account}
	s := newStage(t, &guest.Scripted, `{"metadata":{"name":"x"},"spec":"`+strings.Repeat("x", size)+`"}`)
	s.cause.Account = account
	var handlers []*registries.Handler
	for i := range count {
		h := s.handler(t, fmt.Sprintf(`{"kind":"event","id":"h%d","field":["spec"],"value":{"$":"FUNCTION"}}`, i))
		h.Asker = guest
		handlers = append(handlers, h)
	}
	matching, err := s.cause.Match(t.Context(), handlers)
	if err != nil || len(matching) != count {
		t.Fatalf("%d handlers match, %v", len(matching), err)
	}
	total := 0
	for _, asked := range guest.sizes {
		total += asked
		if asked > 3*size {
			t.Errorf("the guest was asked about %d bytes at once", asked)
		}
	}
	if total < count*size || len(guest.sizes) < count/3 {
		t.Errorf("asked about %d bytes in %d questions", total, len(guest.sizes))
	}
	if n := reactortest.Held(account, accounts.Pending); n != 0 {
		t.Errorf("%d bytes are held afterwards", n)
	}
}

// TestFailuresAreBounded: those that the host finds quote what a guest has said.
func TestFailuresAreBounded(t *testing.T) {
	s := newStage(t, &reactortest.Scripted{Scripts: map[string][]string{"fn": {
		`{"step":"done","lifecycle":"` + strings.Repeat("x", 1<<20) + `","children":[{"kind":"sub","id":"a"}]}`,
	}}}, `{}`)
	outcome, err := s.x.Attempt(t.Context(), s.handler(t, `{"kind":"create","id":"fn","resource":{"plural":"kexes"}}`), s.cause, fresh(0, 0))
	if err != nil || !outcome.Failed || len(outcome.Message) > 200_000 {
		t.Errorf("%v, a message of %d bytes", err, len(outcome.Message))
	}
}

// TestManyChangesOfALargeField: a large field is compared once, not for each handler that needs a change of it: some
// hundredths of a second for each of 10,000 handlers would keep a processor of the host busy for minutes.
func TestManyChangesOfALargeField(t *testing.T) {
	var members strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&members, `"k%d":{"a":1},`, i)
	}
	s := newStage(t, &reactortest.Scripted{}, `{"spec":{`+members.String()+`"z":1}}`)
	old, _ := dicts.Clone(s.cause.Body).(dicts.Object)
	c := NewCause(s.cause.Object, &Change{Reason: causes.Update, Old: old, New: s.cause.Body})
	h := s.handler(t, `{"kind":"update","id":"fn","resource":{"plural":"kexes"},"field":["spec"]}`)
	took := func(count int) time.Duration {
		began := time.Now()
		if matching, err := c.Match(t.Context(), slices.Repeat([]*registries.Handler{h}, count)); err != nil || len(matching) > 0 {
			t.Errorf("%d handlers match, %v", len(matching), err)
		}
		return time.Since(began)
	}
	if one, many := took(1), took(300); many > 20*one+time.Second {
		t.Errorf("%v for 300 handlers, %v for one", many, one)
	}
}

// TestSmallPartsCount: thousands of short settings and filters take many times as much as their texts.
func TestSmallPartsCount(t *testing.T) {
	const parts = 1000
	small := map[string]abi.Raw{}
	for i := range parts {
		small[fmt.Sprint(i)] = abi.Raw("0")
	}
	for name, size := range map[string]int{
		"settings":    textOf(&abi.Step{Outcome: abi.Outcome{Settings: small}}),
		"labels":      textsOf(&abi.Handler{Labels: small}, dicts.Heap),
		"annotations": textsOf(&abi.Handler{Annotations: small}, dicts.Heap),
	} {
		if size < 100*parts {
			t.Errorf("%d %s count as %d bytes", parts, name, size)
		}
	}
}

// review is a kind of causes that lets one handler write.
type review struct {
	RawEvent
	writes string
}

func (k review) ReadOnly(h *registries.Handler) string {
	if h.ID == k.writes {
		return ""
	}
	return "it has no side effects"
}

// judge is a guest whose filters hold. It remembers why its requests must not write.
type judge struct{ readOnly string }

func (g *judge) Ask(_ context.Context, q *abi.Questions, _ []byte, e guests.Env) (*abi.Answers, error) {
	g.readOnly = e.(*Env).Cause.readOnly
	return &abi.Answers{Answers: slices.Repeat([]abi.Verdict{{Value: abi.Raw("true")}}, len(q.Questions))}, nil
}

// TestFiltersMustNotWrite: a filter of a handler that must not write can make requests, too.
func TestFiltersMustNotWrite(t *testing.T) {
	s, guest := newStage(t, &reactortest.Scripted{}, `{"metadata":{"name":"x"}}`), &judge{}
	handler := func(id string) *registries.Handler {
		h := s.handler(t, fmt.Sprintf(`{"kind":"validate","id":%q,"when":{"$":"FUNCTION"}}`, id))
		h.Asker = guest
		return h
	}
	reads, writes := handler("reads"), handler("writes")
	for _, tt := range []struct {
		handlers []*registries.Handler
		may      bool
	}{{[]*registries.Handler{reads}, false}, {[]*registries.Handler{writes}, true}, {[]*registries.Handler{writes, reads}, false}} {
		matching, err := NewCause(s.cause.Object, review{writes: "writes"}).Match(t.Context(), tt.handlers)
		if err != nil || len(matching) != len(tt.handlers) || tt.may != (guest.readOnly == "") {
			t.Errorf("%d of %d handlers match, the reason is %q, %v", len(matching), len(tt.handlers), guest.readOnly, err)
		}
	}
}

// deaf is a guest that continues after it was cancelled, as long as the host lets it.
type deaf struct{ guests.Task }

func (deaf) Cancel(context.Context) error { return nil }

func (deaf) Resume(ctx context.Context, _ abi.Answer) (*abi.Step, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (deaf) Release(context.Context) {}

// careless is a guest that executes sub-handlers after it was cancelled.
type careless struct {
	deaf
	answers []abi.Answer
}

func (c *careless) Resume(_ context.Context, answer abi.Answer) (*abi.Step, error) {
	if c.answers = append(c.answers, answer); len(c.answers) == 1 {
		return &abi.Step{Step: abi.StepExecute}, nil
	}
	return &abi.Step{Step: abi.StepDone}, nil
}

// TestCancelledTasksExecuteNothing: a handler that overlooks that it is cancelled took its sub-handlers for finished, and went on: it
// posted an event that all is migrated, for example.
func TestCancelledTasksExecuteNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := newStage(t, &reactortest.Scripted{}, `{}`)
		guest := &careless{}
		talk := &Conversation{Execution: s.x, Handler: s.handler(t, `{"id":"fn","resource":{"args":["x"]}}`), Cause: s.cause, Task: guest}
		if err := talk.run(ctx, &abi.Step{Step: abi.StepWait}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		talk.Close(ctx)
		if len(guest.answers) != 2 || guest.answers[0].Pending || !guest.answers[1].Pending || !guest.answers[1].Cancelled {
			t.Errorf("answers = %+v", guest.answers)
		}
	})
}

// TestCancelledTasksEnd: a guest that makes one request after the other in its last step never exceeds its limit of computing, and
// kept the operator from its end.
func TestCancelledTasksEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := newStage(t, &reactortest.Scripted{}, `{}`)
		talk := &Conversation{Execution: s.x, Handler: s.handler(t, `{"id":"fn","resource":{"args":["x"]}}`), Cause: s.cause, Task: deaf{}}
		began := time.Now()
		if err := talk.run(ctx, &abi.Step{Step: abi.StepWait}); !errors.Is(err, context.Canceled) || time.Since(began) > 2*cancelledTime {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		talk.Close(ctx)
	})
}
