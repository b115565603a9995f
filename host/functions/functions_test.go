package functions

import (
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
)

// env is an Env whose answers are set by a test. It counts what reaches it.
type env struct {
	Env
	err     error
	reached int
}

func (e *env) Event(abi.Event) error { e.reached++; return e.err }

func (e *env) MemoGet(_ int, key string) ([]byte, uint64, bool) {
	e.reached++
	return []byte("1"), 7, key == "known"
}

func (e *env) MemoSet(int, string, []byte, int64) (uint64, error) { e.reached++; return 8, e.err }

func (e *env) Index(int, string, []byte) ([]byte, error) { e.reached++; return []byte("[]"), e.err }

func (e *env) Segment(tag uint32) []byte {
	if e.reached++; tag == abi.TagOld {
		return []byte("{}")
	}
	return nil
}

// TestRefusedArguments shows which arguments never reach the Env, and the codes that all kinds
// of guests see for them.
func TestRefusedArguments(t *testing.T) {
	long, longJSON := strings.Repeat("k", MaxKey+1), []byte(`"`+strings.Repeat("x", MaxMemo)+`"`)
	event := []byte(`{"reason":"` + strings.Repeat("x", MaxEvent) + `"}`)
	for name, test := range map[string]struct {
		do   func(t *Task) int64
		want int64
	}{
		"event, no JSON":      {func(t *Task) int64 { return t.Post([]byte(`{`)) }, abi.ErrnoInvalid},
		"event, no UTF-8":     {func(t *Task) int64 { return t.Post([]byte("{\"reason\":\"\xff\"}")) }, abi.ErrnoInvalid},
		"event, large":        {func(t *Task) int64 { return t.Post(event) }, abi.ErrnoTooLarge},
		"memo, scope":         {func(t *Task) int64 { _, _, code := t.MemoGet(2, "known"); return code }, abi.ErrnoInvalid},
		"memo, long key":      {func(t *Task) int64 { _, _, code := t.MemoGet(0, long); return code }, abi.ErrnoTooLarge},
		"new memo, scope":     {func(t *Task) int64 { return t.MemoSet(2, "a", nil, 0) }, abi.ErrnoInvalid},
		"new memo, no JSON":   {func(t *Task) int64 { return t.MemoSet(0, "a", []byte("{"), 0) }, abi.ErrnoInvalid},
		"new memo, long key":  {func(t *Task) int64 { return t.MemoSet(0, long, nil, 0) }, abi.ErrnoTooLarge},
		"new memo, large":     {func(t *Task) int64 { return t.MemoSet(0, "a", longJSON, 0) }, abi.ErrnoTooLarge},
		"index, operation":    {func(t *Task) int64 { _, code := t.Index(4, "a", nil); return code }, abi.ErrnoInvalid},
		"index, no JSON":      {func(t *Task) int64 { _, code := t.Index(0, "a", []byte("[")); return code }, abi.ErrnoInvalid},
		"index, large":        {func(t *Task) int64 { _, code := t.Index(0, "a", longJSON); return code }, abi.ErrnoTooLarge},
		"name, long":          {func(*Task) int64 { _, code := Key([]byte(long)); return code }, abi.ErrnoTooLarge},
		"name, no UTF-8":      {func(*Task) int64 { _, code := Key([]byte("\xff")); return code }, abi.ErrnoInvalid},
		"unknown task, event": {func(*Task) int64 { return (*Task)(nil).Post([]byte(`{}`)) }, abi.ErrnoInvalid},
		"unknown task, memo":  {func(*Task) int64 { return (*Task)(nil).MemoSet(0, "a", nil, 0) }, abi.ErrnoInvalid},
		"unknown task, index": {func(*Task) int64 { _, code := (*Task)(nil).Index(0, "a", nil); return code }, abi.ErrnoInvalid},
		"unknown task, data":  {func(*Task) int64 { _, code := (*Task)(nil).Segment(abi.TagOld); return code }, abi.ErrnoInvalid},
		"unknown task, stop":  {func(*Task) int64 { return int64((*Task)(nil).Stopped()) }, 0},
	} {
		e := &env{}
		if got := test.do(&Task{Env: e}); got != test.want || e.reached != 0 {
			t.Errorf("%s: %d, want %d; the Env is called %d times", name, got, test.want, e.reached)
		}
	}
}

// guest is the guest of a running call. It answers requests with their paths.
type guest struct {
	Guest
	owner *Task
	calls []*abi.Call
}

func (g *guest) Owner() *Task { return g.owner }

func (g *guest) Request(call *abi.Call) abi.Answer {
	g.calls = append(g.calls, call)
	return abi.Answer{Response: &abi.Response{Status: 200, Body: abi.Raw(`"` + call.Path + `"`)}}
}

// TestRequestsThatBlock shows who can make requests, and that the answer is a segment until
// the task asks for another one.
func TestRequestsThatBlock(t *testing.T) {
	task := &Task{Env: &env{}}
	g := &guest{owner: task}
	if _, code := task.Segment(abi.TagAnswer); code != abi.ErrnoAbsent {
		t.Errorf("an answer before the request: %d", code)
	}
	answer, code := task.Call(g, []byte(`{"target":"http","method":"GET","path":"/a","headers":{"A":["b"]}}`))
	if want := `{"response":{"status":200,"body":"/a"}}`; string(answer) != want || code != OK {
		t.Errorf("answer %s, %d", answer, code)
	}
	if kept, _ := task.Segment(abi.TagAnswer); string(kept) != string(answer) {
		t.Errorf("segment %s", kept)
	}
	_, _ = task.Segment(abi.TagOld)
	if _, code := task.Segment(abi.TagAnswer); code != abi.ErrnoAbsent {
		t.Errorf("the answer after another segment: %d", code)
	}
	if len(g.calls) != 1 || g.calls[0].Headers["A"][0] != "b" {
		t.Errorf("requests: %+v", g.calls)
	}
	for name, test := range map[string]struct {
		task *Task
		data string
		code int64
	}{
		"of no task":      {nil, `{}`, abi.ErrnoInvalid},
		"of another task": {&Task{Env: &env{}}, `{}`, abi.ErrnoInvalid},
		"large":           {task, `{"body":"` + strings.Repeat("x", MaxCall) + `"}`, abi.ErrnoTooLarge},
	} {
		if _, code := test.task.Call(g, []byte(test.data)); code != test.code || len(g.calls) != 1 {
			t.Errorf("%s: %d after %d requests", name, code, len(g.calls))
		}
	}
	for _, data := range []string{`{`, "{\"path\":\"\xff\"}", `{"headers":{"A":"b"}}`, `{"headers":{"A":[` + strings.Repeat(`"",`, maxHeaders) + `""]}}`} {
		answer, code := task.Call(g, []byte(data))
		if code != OK || !strings.Contains(string(answer), `"type":"Invalid"`) || len(g.calls) != 1 {
			t.Errorf("%.40s: %s, %d", data, answer, code)
		}
	}
}

// keeper is an Env that counts what the host keeps for the task, up to a limit.
type keeper struct {
	env
	kept, limit int
}

func (k *keeper) Keep(_ uint32, bytes int) error {
	if k.kept = bytes; bytes > k.limit {
		k.kept = 0
		return accounts.ErrLimit
	}
	return nil
}

// TestKeptAnswersCount: a guest that never fetches the answer to its request, and waits inside of the call, would use memory of
// the host that nothing counts.
func TestKeptAnswersCount(t *testing.T) {
	k := &keeper{limit: 100}
	task := &Task{Env: k}
	answer, code := task.Call(&guest{owner: task}, []byte(`{"path":"/a"}`))
	if code != OK || k.kept != len(answer) {
		t.Errorf("%d of %d bytes count: %d", k.kept, len(answer), code)
	}
	if task.Forget(); k.kept != 0 {
		t.Errorf("%d bytes count afterwards", k.kept)
	}
	if _, code := task.Call(&guest{owner: task}, []byte(`{"path":"`+strings.Repeat("a", 100)+`"}`)); code != abi.ErrnoTooLarge {
		t.Errorf("beyond the limit: %d", code)
	}
	if _, code := task.Segment(abi.TagAnswer); code != abi.ErrnoAbsent {
		t.Errorf("a refused answer: %d", code)
	}
}

// TestErrorsOfTheEnv shows the codes for errors of the Env.
func TestErrorsOfTheEnv(t *testing.T) {
	for want, err := range map[int64]error{
		OK: nil, abi.ErrnoAbsent: abi.ErrAbsent, abi.ErrnoConflict: abi.ErrConflict, abi.ErrnoDenied: abi.ErrDenied,
		abi.ErrnoTooLarge: accounts.ErrLimit, abi.ErrnoInvalid: abi.ErrGuest,
	} {
		task := &Task{Env: &env{err: err}}
		if got := task.Post([]byte(`{}`)); got != want {
			t.Errorf("event: %v: %d, want %d", err, got, want)
		}
		if _, got := task.Index(3, "a", []byte(`1`)); got != want {
			t.Errorf("index: %v: %d, want %d", err, got, want)
		}
		if want == OK {
			want = 8 // the version
		}
		if got := task.MemoSet(1, "a", []byte(`1`), -1); got != want {
			t.Errorf("memo: %v: %d, want %d", err, got, want)
		}
	}
	if _, _, got := (&Task{Env: &env{}}).MemoGet(0, "other"); got != abi.ErrnoAbsent {
		t.Errorf("absent memo: %d", got)
	}
}

// TestSegmentsAreKept shows that a segment is fetched once, until the task forgets it.
func TestSegmentsAreKept(t *testing.T) {
	e := &env{}
	task := &Task{Env: e}
	for range 2 {
		if data, code := task.Segment(abi.TagOld); string(data) != "{}" || code != OK {
			t.Errorf("%q, %d", data, code)
		}
	}
	if e.reached != 1 {
		t.Errorf("fetched %d times", e.reached)
	}
	task.Forget()
	_, _ = task.Segment(abi.TagOld)
	if _, code := task.Segment(abi.TagNew); code != abi.ErrnoAbsent || e.reached != 3 {
		t.Errorf("%d, fetched %d times", code, e.reached)
	}
}
