package guest

import "github.com/kopf-wasm/kopf/abi"

// encodeRegistration writes a registration; the capabilities by a function, if there are any.
func encodeRegistration(r abi.Registration, capabilities func(*writer, *abi.Capabilities)) []byte {
	w := &writer{}
	w.open()
	w.text("sdk", r.SDK)
	if r.Operator != (abi.OperatorInfo{}) {
		w.key("operator")
		w.open()
		w.text("name", r.Operator.Name)
		w.text("version", r.Operator.Version)
		w.close()
	}
	w.handlers("handlers", r.Handlers)
	w.text("lifecycle", r.Lifecycle)
	w.yes("shared_tasks", r.SharedTasks)
	if r.Capabilities != nil {
		capabilities(w, r.Capabilities)
	}
	w.text("error", r.Error)
	w.close()
	return w.buf
}

func (w *writer) capabilities(c *abi.Capabilities) {
	w.key("capabilities")
	w.open()
	if len(c.Kubernetes) > 0 {
		w.list("kubernetes", len(c.Kubernetes), func(i int) {
			rule := c.Kubernetes[i]
			w.open()
			w.texts("groups", rule.Groups)
			w.texts("resources", rule.Resources)
			w.texts("verbs", rule.Verbs)
			w.texts("namespaces", rule.Namespaces)
			w.close()
		})
	}
	w.texts("http", c.HTTP)
	w.texts("config", c.Config)
	w.close()
}

func (w *writer) handlers(key string, handlers []abi.Handler) {
	w.list(key, len(handlers), func(i int) { w.handler(&handlers[i]) })
}

func (w *writer) handler(h *abi.Handler) {
	w.open()
	w.must("kind", string(h.Kind))
	w.must("id", h.ID)
	w.text("fn", h.Fn)
	w.selector(h.Resource)
	w.raw("param", h.Param)
	w.text("errors", h.Errors)
	w.seconds("timeout", h.Timeout)
	w.count("retries", h.Retries)
	w.seconds("backoff", h.Backoff)
	w.raws("labels", h.Labels)
	w.raws("annotations", h.Annotations)
	w.raw("when", h.When)
	w.texts("field", h.Field)
	w.raw("value", h.Value)
	w.raw("old", h.Old)
	w.raw("new", h.New)
	w.yes("optional", h.Optional)
	w.yes("deleted", h.Deleted)
	w.special(h)
	w.close()
}

// special writes the options of handlers that do not change states.
func (w *writer) special(h *abi.Handler) {
	w.seconds("interval", h.Interval)
	w.yes("sharp", h.Sharp)
	w.seconds("idle", h.Idle)
	w.raw("initial_delay", h.InitialDelay)
	w.seconds("cancellation_backoff", h.CancellationBackoff)
	w.seconds("cancellation_timeout", h.CancellationTimeout)
	w.seconds("cancellation_polling", h.CancellationPolling)
	w.texts("operations", h.Operations)
	w.text("subresource", h.Subresource)
	w.yes("persistent", h.Persistent)
	w.yes("side_effects", h.SideEffects)
	w.yes("ignore_failures", h.IgnoreFailures)
	w.text("from", h.From)
	w.text("to", h.To)
}

func (w *writer) selector(s *abi.Selector) {
	if s == nil {
		return
	}
	w.key("resource")
	w.open()
	if len(s.Args) > 0 {
		w.list("args", len(s.Args), func(i int) { w.buf = append(w.buf, s.Args[i]...) })
	}
	if s.Group != nil {
		w.must("group", *s.Group)
	}
	w.text("version", s.Version)
	w.text("kind", s.Kind)
	w.text("plural", s.Plural)
	w.text("singular", s.Singular)
	w.text("shortcut", s.Shortcut)
	w.text("category", s.Category)
	w.yes("function", s.Function)
	w.close()
}

// encodeStep writes a step.
func encodeStep(s *abi.Step, call func(*writer, *abi.Call)) []byte { return appendStep(nil, s, call) }

// appendStep writes a step into an empty buffer; a request in it by a function, if there is any.
func appendStep(buf []byte, s *abi.Step, call func(*writer, *abi.Call)) []byte {
	w := &writer{buf}
	w.open()
	w.must("step", string(s.Step))
	w.raw("result", s.Result)
	w.raw("patch", s.Patch)
	w.number("transforms", s.Transforms)
	w.fault("error", s.Error)
	w.texts("warnings", s.Warnings)
	w.raws("settings", s.Settings)
	w.yes("keyed", s.Keyed)
	w.seconds("seconds", s.Seconds)
	w.yes("stoppable", s.Stoppable)
	if len(s.Children) > 0 {
		w.handlers("children", s.Children)
	}
	w.text("lifecycle", s.Lifecycle)
	if s.Call != nil {
		call(w, s.Call)
	}
	w.yes("continue", s.Continue)
	w.close()
	return w.buf
}

func (w *writer) call(c *abi.Call) {
	w.key("call")
	w.open()
	w.must("target", c.Target)
	w.must("method", c.Method)
	w.must("path", c.Path)
	w.headers("headers", c.Headers)
	w.raw("body", c.Body)
	w.text("encoding", c.Encoding)
	w.seconds("timeout", c.Timeout)
	w.yes("verbatim", c.Verbatim)
	w.close()
}

func encodeAnswers(answers []abi.Verdict) []byte {
	w := &writer{}
	w.open()
	w.list("answers", len(answers), func(i int) {
		w.open()
		w.raw("value", answers[i].Value)
		w.fault("error", answers[i].Error)
		w.close()
	})
	w.close()
	return w.buf
}

func encodeTransformed(r abi.TransformResult) []byte {
	w := &writer{}
	w.open()
	w.raw("body", r.Body)
	w.fault("error", r.Error)
	w.close()
	return w.buf
}

// EncodeEvent writes the message of the host function event.
func EncodeEvent(e abi.Event) []byte {
	w := &writer{}
	w.open()
	w.number("level", e.Level)
	w.must("type", e.Type)
	w.must("reason", e.Reason)
	w.must("message", e.Message)
	w.raw("object", e.Object)
	w.raw("backoffs", e.Backoffs)
	w.close()
	return w.buf
}
