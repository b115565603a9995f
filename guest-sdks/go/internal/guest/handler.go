package guest

import "github.com/kopf-wasm/kopf/abi"

// Handler is a declared handler and the functions behind it.
type Handler struct {
	Declaration abi.Handler

	// Run is called in a goroutine of its own. It may panic.
	Run func(*Task) Done

	// Callbacks are the options that are functions.
	Callbacks Callbacks
}

// Callbacks are the options of a handler that are functions.
type Callbacks struct {
	functions map[Option]Callback
	judge     func(functions map[Option]Callback, t *Task, asked []abi.Callback) abi.Verdict
}

// Set sets an option. What evaluates it is in modules with such options only.
func (c *Callbacks) Set(option Option, fn Callback) {
	if c.functions == nil {
		c.functions, c.judge = map[Option]Callback{}, judge
	}
	c.functions[option] = fn
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
	Transforms Transforms
}

// Transforms are what a handler has left to be done with the body.
type Transforms struct {
	list  []Transform
	apply func(list []Transform, raw []byte) abi.TransformResult
}

// Add adds a transformation. What applies it is in modules with transformations only.
func (t *Transforms) Add(fn Transform) { t.list, t.apply = append(t.list, fn), transformed }

// Join adds the transformations of another handler.
func (t *Transforms) Join(others Transforms) {
	if t.list = append(t.list, others.list...); t.apply == nil {
		t.apply = others.apply
	}
}

// Apply applies the transformations to a body, in order.
func (t *Transforms) Apply(raw []byte) abi.TransformResult {
	if t.apply == nil {
		return abi.TransformResult{Body: raw}
	}
	return t.apply(t.list, raw)
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
