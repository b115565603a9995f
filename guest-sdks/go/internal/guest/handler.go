package guest

import "github.com/kopf-wasm/kopf/abi"

// Handler is a declared handler and the functions behind it.
type Handler struct {
	Declaration abi.Handler

	// Run is called in a goroutine of its own. It may panic.
	Run func(*Task) Done

	// Callbacks are the options that are functions.
	Callbacks map[Option]Callback
}

// Option names an option that is a function: labels and annotations with the
// key of the label, others by their name alone.
type Option struct{ Name, Key string }

// Callback answers one option for one value; options without values get none.
// It may panic.
type Callback func(t *Task, value abi.Value) (any, error)

// Done is the end of a handler.
type Done struct {
	abi.Outcome
	Children   []*Handler // to be run after the handler
	Lifecycle  string     // of the children; "" for that of the operator
	Transforms []Transform
}

// Transform edits a body in place.
type Transform func(body map[string]any) error

// Declare lists the declarations of handlers.
func Declare(handlers []*Handler) []abi.Handler {
	declared := make([]abi.Handler, len(handlers))
	for i, h := range handlers {
		declared[i] = h.Declaration
	}
	return declared
}
