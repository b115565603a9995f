package guest

import (
	"strconv"

	"github.com/kopf-wasm/kopf/abi"
)

// Registry collects what an operator declares before it is asked for it.
type Registry struct {
	Operator  abi.OperatorInfo
	Lifecycle string

	capabilities abi.Capabilities
	describe     func(*writer, *abi.Capabilities) // writes them; nil if there are none

	handlers []*Handler
	setups   []func() error
	problems string // of registrations
	config   map[string]string
}

// Add declares a handler. The registration reports errors of the declaration.
func (r *Registry) Add(h *Handler, err error) {
	if err != nil {
		r.problem("handler " + strconv.Itoa(len(r.handlers)+1) + ": " + err.Error())
	}
	r.handlers = append(r.handlers, h)
}

// Anonymous lists the kinds of the declared handlers that have this id, and no identity.
func (r *Registry) Anonymous(id string) []abi.Kind {
	var kinds []abi.Kind
	for _, h := range r.handlers {
		if h.Declaration.ID == id && h.Declaration.Fn == "" {
			kinds = append(kinds, h.Declaration.Kind)
		}
	}
	return kinds
}

// problem adds to the errors that the registration reports.
func (r *Registry) problem(text string) {
	if r.problems != "" {
		r.problems += "; "
	}
	r.problems += text
}

// Want adds to the rights that the operator needs.
func (r *Registry) Want(c abi.Capabilities) {
	all := &r.capabilities
	all.Kubernetes = append(all.Kubernetes, c.Kubernetes...)
	all.HTTP = append(all.HTTP, c.HTTP...)
	all.Config = append(all.Config, c.Config...)
	if len(all.Kubernetes)+len(all.HTTP)+len(all.Config) > 0 {
		r.describe = (*writer).capabilities
	}
}

// Setup declares a function that is run at registration, when the configuration is known.
func (r *Registry) Setup(fn func() error) { r.setups = append(r.setups, fn) }

// Config is a value of the configuration that came with the registration.
func (r *Registry) Config(key string) (string, bool) {
	value, ok := r.config[key]
	return value, ok
}

// register runs the setups, and describes all handlers.
func (r *Registry) register(req abi.RegisterRequest) abi.Registration {
	r.config = req.Config
	setups := r.setups
	r.setups = nil // once per instance
	for _, setup := range setups {
		var err error
		if failed := Try(func() { err = setup() }); failed != nil {
			r.problem(failed.Message)
		} else if err != nil {
			r.problem(err.Error())
		}
	}
	answer := abi.Registration{
		SDK:         SDK,
		Operator:    r.Operator,
		Handlers:    Declare(r.handlers),
		Lifecycle:   r.Lifecycle,
		SharedTasks: true, // each task is a goroutine
		Error:       r.problems,
	}
	if r.describe != nil {
		answer.Capabilities = &r.capabilities
	}
	return answer
}

// handler is a handler by its position; nil if there is none.
func (r *Registry) handler(index int) *Handler {
	if index < 0 || index >= len(r.handlers) {
		return nil
	}
	return r.handlers[index]
}
