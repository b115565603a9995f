package host

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
)

// TestPlainStep: what is read in one pass is what a decoder reads.
func TestPlainStep(t *testing.T) {
	for _, tt := range []struct {
		text  string
		plain bool
	}{
		{`{"step":"done"}`, true},
		{` {"step":"done","result":{"a":[1,"\u0041"]},"patch":{"spec":{}}} `, true},
		{`{"result":null,"step":"done"}`, true},
		{`{"step":"done","patch":null}`, false},
		{`{"step":"done","patch":[]}`, false},
		{`{"step":"done","error":{"kind":"permanent","message":"x"}}`, false},
		{`{"step":"done","warnings":["x"]}`, false},
		{`{"step":"wait","seconds":1}`, false},
		{`{"step":"done","step":"wait"}`, false},
		{`{"step":"done","Result":1}`, false},
		{`{"step":"done"`, false},
		{"{\"step\":\"done\",\"result\":\"\xff\"}", false},
		{`{"result":1}`, false},
		{`[]`, false},
	} {
		got, plain := plainStep([]byte(tt.text))
		if plain != tt.plain {
			t.Errorf("%s: plain: %t, want %t", tt.text, plain, tt.plain)
		}
		want := &abi.Step{}
		if !plain {
			continue
		}
		if err := json.Unmarshal([]byte(tt.text), want); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: %v (-want +got):\n%s", tt.text, err, cmp.Diff(want, got))
		}
	}
}

// TestPlainStepIsACopy shows that a step does not change with the memory of the guest.
func TestPlainStepIsACopy(t *testing.T) {
	text := []byte(`{"step":"done","result":"a","patch":{"b":1}}`)
	step, _ := plainStep(text)
	clear(text)
	if string(step.Result) != `"a"` || string(step.Patch) != `{"b":1}` {
		t.Errorf("the step has become %s and %s", step.Result, step.Patch)
	}
}

// TestErrorsOfGuestsAreBounded: in steps, in answers of filters, and in what transformation functions return.
func TestErrorsOfGuestsAreBounded(t *testing.T) {
	long := strings.Repeat("\u202e", 1<<20)
	failure := `{"kind":"arbitrary","message":"` + long + `","type":"` + long + `","stack":"` + long + `"}`
	step, err := decodeStep([]byte(`{"step":"done","error":` + failure + `}`))
	if err != nil {
		t.Fatal(err)
	}
	result, err := decodeTransform([]byte(`{"error":` + failure + `}`))
	if err != nil {
		t.Fatal(err)
	}
	answers, err := decodeAnswers([]byte(`{"answers":[{"error":`+failure+`}]}`), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*abi.Error{step.Error, result.Error, answers.Answers[0].Error} {
		if len(e.Message) > maxMessage+100 || len(e.Type) > maxType+100 || len(e.Stack) > maxShown+100 || !strings.HasSuffix(e.Message, " bytes more)") {
			t.Errorf("a message of %d bytes, a type of %d, and a stack of %d", len(e.Message), len(e.Type), len(e.Stack))
		}
	}
}

// TestFailuresOfGuestsAreBounded: a failure quotes what a guest has sent. The progress of a handler stores its message in an
// annotation, which has no room for megabytes: then the cluster refuses the patch, and the handler is repeated without a pause.
func TestFailuresOfGuestsAreBounded(t *testing.T) {
	for _, text := range []string{
		`{"step":"` + strings.Repeat("x", 1<<20) + `"}`,
		`{"step":"done","transforms":` + strings.Repeat("9", 1<<20) + `}`,
		`{"step":"done","children":[{"kind":"sub","id":"a","errors":"` + strings.Repeat("x", 1<<20) + `"}]}`,
	} {
		c := &call{in: &instance{m: &Module{}}}
		_, err := decodeStep([]byte(text))
		if e := c.Fail(err); len(e.Error()) > 2*maxMessage {
			t.Errorf("%.60s: a message of %d bytes", text, len(e.Error()))
		}
	}
}

// TestStepsHaveTheFieldsOfTheirKind: a handler that waits for days must not keep megabytes that nothing counts in the host.
func TestStepsHaveTheFieldsOfTheirKind(t *testing.T) {
	const rest = `"result":"r","patch":{"p":1},"transforms":1,"error":{"kind":"permanent","message":"m"},"warnings":["w"],"settings":{"s":1},"keyed":true,
		"seconds":2,"stoppable":true,"children":[{"kind":"sub","id":"a"}],"lifecycle":"asap"`
	seconds, child := 2.0, []abi.Handler{{Kind: abi.KindSub, ID: "a"}}
	for text, want := range map[string]*abi.Step{
		`{"step":"wait","call":{"path":"/"},` + rest + `}`:    {Step: abi.StepWait, Seconds: &seconds, Stoppable: true},
		`{"step":"call","call":{"path":"/"},` + rest + `}`:    {Step: abi.StepCall, Seconds: &seconds, Call: &abi.Call{Path: "/"}},
		`{"step":"call","continue":true,` + rest + `}`:        {Step: abi.StepCall, Seconds: &seconds, Continue: true},
		`{"step":"execute","call":{"path":"/"},` + rest + `}`: {Step: abi.StepExecute, Outcome: abi.Outcome{Patch: abi.Raw(`{"p":1}`)}, Children: child, Lifecycle: "asap"},
		`{"step":"done","call":{"path":"/"},` + rest + `}`: {Step: abi.StepDone, Children: child, Lifecycle: "asap", Outcome: abi.Outcome{
			Result: abi.Raw(`"r"`), Patch: abi.Raw(`{"p":1}`), Transforms: 1, Error: &abi.Error{Kind: abi.ErrorPermanent, Message: "m"},
			Warnings: []string{"w"}, Settings: map[string]abi.Raw{"s": abi.Raw("1")}, Keyed: true,
		}},
	} {
		got, err := decodeStep([]byte(text))
		if err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, cmp.Diff(want, got))
		}
	}
}
