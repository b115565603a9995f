package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/registration"
	"github.com/kopf-wasm/kopf/internal/bounded"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/legible"
)

// decode decodes a message of the guest. It ignores unknown fields, and refuses malformed
// text.
func decode(data []byte, message any) error {
	if !utf8.Valid(data) {
		return fmt.Errorf("%w: it is not UTF-8", ErrMessage)
	}
	if err := json.Unmarshal(data, message); err != nil {
		return fmt.Errorf("%w: %w", ErrMessage, err)
	}
	return nil
}

// maxValues bounds the decoded values of a message. Results, patches and bodies do not
// count, because they stay text.
const maxValues = 200_000

// decodePart decodes a part of a message. Absent and null parts change nothing. The limit on
// values matters, because millions of empty values take sixty times the memory of their
// text.
func decodePart(name string, part json.RawMessage, into any) error {
	if len(part) == 0 {
		return nil
	}
	err := bounded.JSON(part, maxValues)
	if err == nil {
		err = json.Unmarshal(part, into)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrMessage, name, err)
	}
	return nil
}

// wireStep is a step whose lists, tables and children are still text. Children are decoded
// strictly.
type wireStep struct {
	abi.Step
	Children json.RawMessage `json:"children"`
	Warnings json.RawMessage `json:"warnings"`
	Settings json.RawMessage `json:"settings"`
	Call     *wireCall       `json:"call"`
}

type wireCall struct {
	abi.Call
	Headers json.RawMessage `json:"headers"`
}

// step decodes the remaining parts.
func (w *wireStep) step() (*abi.Step, error) {
	step := w.Step
	var children []json.RawMessage
	err := errors.Join(decodePart("children", w.Children, &children), decodePart("warnings", w.Warnings, &step.Warnings), decodePart("settings", w.Settings, &step.Settings))
	if w.Call != nil {
		step.Call = &w.Call.Call
		err = errors.Join(err, decodePart("headers", w.Call.Headers, &step.Call.Headers))
	}
	if err != nil {
		return nil, err
	}
	if step.Children, err = registration.ParseChildren(children); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	return &step, nil
}

// plainStep decodes the most frequent step in one pass: the handler has ended, with only a
// result and a patch. It returns false for all other steps.
func plainStep(data []byte) (*abi.Step, bool) {
	step := &abi.Step{}
	plain := true
	ok := dicts.Scan(data, func(parent, key string, value []byte) {
		switch {
		case parent != "":
		case key == "step":
			step.Step = abi.StepDone
			plain = plain && string(value) == `"done"`
		case key == "result":
			step.Result = bytes.Clone(value) // the text is a view of the guest's memory
		case key == "patch" && value[0] == '{':
			step.Patch = bytes.Clone(value)
		default:
			plain = false
		}
	})
	return step, ok && plain && step.Step != ""
}

// decodeStep decodes the answer of start and resume.
func decodeStep(data []byte) (*abi.Step, error) {
	if step, ok := plainStep(data); ok {
		return step, nil
	}
	var w wireStep
	if err := decode(data, &w); err != nil {
		return nil, err
	}
	step, err := w.step()
	if err != nil {
		return nil, err
	}
	if err := checkStep(step); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	return ownFields(step), nil
}

// ownFields returns a step with the fields of its kind only. A caller keeps the step while the task waits, for days perhaps, and
// no account counts the rest, which may be megabytes.
func ownFields(s *abi.Step) *abi.Step {
	own := &abi.Step{Step: s.Step}
	switch s.Step {
	case abi.StepWait:
		own.Seconds, own.Stoppable = s.Seconds, s.Stoppable
	case abi.StepExecute:
		own.Patch, own.Children, own.Lifecycle = s.Patch, s.Children, s.Lifecycle
	case abi.StepCall:
		own.Seconds, own.Call, own.Continue = s.Seconds, s.Call, s.Continue
	case abi.StepDone:
		own.Outcome, own.Children, own.Lifecycle = s.Outcome, s.Children, s.Lifecycle
	}
	return own
}

// checkStep refuses steps that the specification does not define.
func checkStep(s *abi.Step) error {
	switch s.Step {
	case abi.StepDone:
		return checkOutcome(&s.Outcome)
	case abi.StepWait:
		if s.Seconds != nil && (*s.Seconds < 0 || math.IsNaN(*s.Seconds)) {
			return fmt.Errorf("a wait of %v seconds", *s.Seconds)
		}
	case abi.StepExecute:
	case abi.StepCall:
		if (s.Call == nil) != s.Continue {
			return fmt.Errorf("a step %q without a call, or with one and continue", s.Step)
		}
		if s.Seconds != nil && (*s.Seconds < 0 || math.IsNaN(*s.Seconds)) {
			return fmt.Errorf("a wait of %v seconds for a response", *s.Seconds)
		}
	default:
		return fmt.Errorf("unknown step %q", s.Step)
	}
	return nil
}

func checkOutcome(o *abi.Outcome) error {
	if o.Transforms < 0 {
		return fmt.Errorf("%d transforms", o.Transforms)
	}
	if !o.Patch.IsNull() && o.Patch[0] != '{' {
		return fmt.Errorf("a patch that is not an object")
	}
	if o.Error == nil {
		return nil
	}
	return takeError(o.Error)
}

// Bounds of the texts of an error, in bytes. A record of the log has no room for more. Otherwise, each copy of a long message
// would cost memory, and no annotation can store the escaped form.
const (
	maxMessage = 64 << 10
	maxType    = 1 << 10
)

// takeError checks an error of a guest, and cuts its texts.
func takeError(e *abi.Error) error {
	e.Message, e.Type, e.Stack = legible.Clip(e.Message, maxMessage), legible.Clip(e.Type, maxType), legible.Clip(e.Stack, maxShown)
	switch e.Kind {
	case abi.ErrorTemporary, abi.ErrorPermanent, abi.ErrorArbitrary, abi.ErrorAdmission, abi.ErrorChildren:
		return nil
	}
	return fmt.Errorf("unknown kind of an error: %.100q", e.Kind)
}

// decodeTransform decodes the answer of transform.
func decodeTransform(data []byte) (*abi.TransformResult, error) {
	var result abi.TransformResult
	if err := decode(data, &result); err != nil {
		return nil, err
	}
	switch {
	case result.Error != nil:
		if err := takeError(result.Error); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMessage, err)
		}
	case result.Body.IsNull() || result.Body[0] != '{':
		return nil, fmt.Errorf("%w: neither a body nor an error", ErrMessage)
	}
	return &result, nil
}

// decodeAnswers decodes the answer of ask.
func decodeAnswers(data []byte, questions int) (*abi.Answers, error) {
	var answers abi.Answers
	if err := bounded.JSON(data, maxValues); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	if err := decode(data, &answers); err != nil {
		return nil, err
	}
	if len(answers.Answers) != questions {
		return nil, fmt.Errorf("%w: %d answers to %d questions", ErrMessage, len(answers.Answers), questions)
	}
	for _, a := range answers.Answers {
		if a.Error == nil {
			continue
		}
		if err := takeError(a.Error); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMessage, err)
		}
	}
	return &answers, nil
}
