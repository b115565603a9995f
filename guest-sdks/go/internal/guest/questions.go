package guest

import (
	"errors"
	"reflect"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/jsonlite"
)

// Ask answers kopf_ask: it evaluates options that are functions.
func (m *Module) Ask(task uint32, frame []byte) []byte {
	head, body, err := unframe(frame)
	t := &Task{ID: task, Body: body, Host: m.Host}
	var questions []abi.Question
	if err == nil {
		questions, err = m.decodeQuestions(head, t)
	}
	answers := make([]abi.Verdict, len(questions))
	for i := range questions {
		if err != nil {
			answers[i].Error = arbitrary(err.Error())
		} else {
			answers[i] = m.answered(t, &questions[i])
		}
	}
	return encodeAnswers(answers)
}

func (m *Module) answered(t *Task, question *abi.Question) abi.Verdict {
	h := m.find(question.Handler, question.Parent)
	switch {
	case h == nil:
		return abi.Verdict{Error: arbitrary("no such handler")}
	case len(question.Callbacks) == 0:
		return abi.Verdict{Value: abi.Raw("true")}
	case h.Callbacks.judge == nil:
		return abi.Verdict{Error: arbitrary("no such callback: " + question.Callbacks[0].Option)}
	}
	return h.Callbacks.judge(h.Callbacks.functions, t, question.Callbacks)
}

// judge evaluates the callbacks of one handler, up to the first that is not true.
func judge(functions map[Option]Callback, t *Task, asked []abi.Callback) abi.Verdict {
	verdict := abi.Verdict{Value: abi.Raw("true")}
	for _, callback := range asked {
		fn := functions[Option{callback.Option, callback.Key}]
		if fn == nil {
			return abi.Verdict{Error: arbitrary("no such callback: " + callback.Option)}
		}
		verdict = Evaluate(t, fn, callback.Values)
		if verdict.Error != nil || string(verdict.Value) != "true" {
			break
		}
	}
	return verdict
}

// Evaluate calls a callback for each value until one holds.
func Evaluate(t *Task, fn Callback, values []abi.Value) abi.Verdict {
	if len(values) == 0 {
		values = []abi.Value{{Absent: true}}
	}
	var verdict abi.Verdict
	for _, value := range values {
		verdict = evaluateOne(t, fn, value)
		if verdict.Error != nil || string(verdict.Value) != "false" {
			break
		}
	}
	return verdict
}

// evaluateOne calls a callback, and turns errors and panics into answers.
func evaluateOne(t *Task, fn Callback, value abi.Value) (verdict abi.Verdict) {
	var err error
	failed := Try(func() {
		var result any
		if result, err = fn(t, value); err == nil {
			verdict.Value, err = jsonlite.Encode(result)
		}
	})
	if err != nil {
		failed = &abi.Error{Kind: abi.ErrorArbitrary, Message: err.Error(), Type: reflect.TypeOf(err).String()}
	}
	if failed != nil {
		return abi.Verdict{Error: failed}
	}
	return verdict
}

// errBody is a body that is not an object.
var errBody = errors.New("the body is not an object")

func transformed(transforms []Transform, raw []byte) (result abi.TransformResult) {
	var err error
	failed := Try(func() { result.Body, err = transform(transforms, raw) })
	if err != nil {
		failed = arbitrary(err.Error())
	}
	if failed != nil {
		return abi.TransformResult{Error: failed}
	}
	return result
}

func transform(transforms []Transform, raw []byte) (abi.Raw, error) {
	decoded, err := jsonlite.Any(raw)
	if err != nil {
		return nil, err
	}
	body, ok := decoded.(map[string]any)
	if !ok {
		return nil, errBody
	}
	for _, edit := range transforms {
		if err := edit(body); err != nil {
			return nil, err
		}
	}
	return jsonlite.Encode(body)
}
