package guest

import "github.com/kopf-wasm/kopf/abi"

// SDK is the name and the version of this SDK, for the log of the host.
const SDK = "go 0.1.0"

// Module answers the calls of the host. Messages come and go as bytes; an answer is valid until the next call. It is
// not for concurrent use: a host never makes two calls at once.
type Module struct {
	Registry
	Host Host

	tasks    map[uint32]*running
	resource decodedResource
	idle     []*worker
	thrift   thrift
	step     []byte // the buffer of the last step
}

// Register answers kopf_register.
func (m *Module) Register(request []byte) []byte {
	req, err := decodeRequest(request)
	if err != nil {
		return encodeRegistration(abi.Registration{Error: err.Error()}, nil)
	}
	return encodeRegistration(m.register(req), m.describe)
}

// Start answers kopf_start: it begins a task.
func (m *Module) Start(task uint32, frame []byte) []byte {
	head, body, err := unframe(frame)
	if err != nil {
		return failure(err.Error())
	}
	r := &running{Task: Task{ID: task, Body: body, Host: m.Host}}
	if err := m.decodeInvocation(head, &r.Task); err != nil {
		return failure(err.Error())
	}
	h := m.find(r.Call.Handler, r.Call.Parent)
	if h == nil {
		return failure("no such handler: " + r.Call.ID)
	}
	step := m.worker().start(r, h)
	if step.Step != abi.StepDone || r.leaves() {
		if m.tasks == nil {
			m.tasks = map[uint32]*running{}
		}
		m.tasks[task] = r
	}
	return m.answer(r, step)
}

// Resume answers kopf_resume: it continues a waiting task.
func (m *Module) Resume(task uint32, message []byte) []byte {
	r := m.tasks[task]
	if r == nil || r.done() {
		return failure("no such task to resume")
	}
	answer, err := decodeAnswer(message, r.requests.read)
	if err != nil {
		return failure(err.Error())
	}
	return m.answer(r, r.worker.resume(answer))
}

// Cancel answers kopf_cancel. Unknown tasks are ended ones.
func (m *Module) Cancel(task uint32) {
	if r := m.tasks[task]; r != nil && !r.done() {
		r.Cancel()
	}
}

// Release answers kopf_release.
func (m *Module) Release(task uint32) { delete(m.tasks, task) }

// Transform answers kopf_transform: it runs the transformations that a task left.
func (m *Module) Transform(task uint32, body []byte) []byte {
	r := m.tasks[task]
	if r == nil {
		return encodeTransformed(abi.TransformResult{Error: arbitrary("no such task to transform")})
	}
	return encodeTransformed(r.transforms.Apply(body))
}

// Pending is the number of tasks that are kept.
func (m *Module) Pending() int { return len(m.tasks) }

// worker is a worker that has nothing to do.
func (m *Module) worker() *worker {
	last := len(m.idle) - 1
	if last < 0 {
		return newWorker()
	}
	w := m.idle[last]
	m.idle = m.idle[:last]
	return w
}

// answer encodes a step. At the last one it takes the worker back, and forgets
// the task if it is not needed any more.
func (m *Module) answer(r *running, step *abi.Step) []byte {
	if step.Step == abi.StepDone {
		if !r.worker.exited {
			m.idle = append(m.idle, r.worker)
		}
		r.worker = nil
		if !r.leaves() {
			delete(m.tasks, r.ID)
		}
	}
	if cap(m.step) > largeStep {
		m.step = nil
	}
	m.step = appendStep(m.step[:0], step, r.requests.write)
	return m.step
}

// largeStep is the size of a buffer that is not kept for further steps.
const largeStep = 4 << 10

// find is a handler of the registration, or a child of a task.
func (m *Module) find(index int, parent uint32) *Handler {
	if parent == 0 {
		return m.handler(index)
	}
	if r := m.tasks[parent]; r != nil {
		return r.Child(index)
	}
	return nil
}

// unframe finds the header of a frame, and the body. The header is a copy, as its texts are kept as long as the task: a
// daemon that waits keeps no body.
func unframe(frame []byte) (head, body []byte, err error) {
	if head, err = abi.FindSegment(frame, abi.TagHeader); err == nil {
		body, err = abi.FindSegment(frame, abi.TagBody)
	}
	return append([]byte(nil), head...), body, err
}

// failure is the last step of a task that could not run.
func failure(message string) []byte {
	return encodeStep(&abi.Step{Step: abi.StepDone, Outcome: abi.Outcome{Error: arbitrary(message)}}, nil)
}

func arbitrary(message string) *abi.Error {
	return &abi.Error{Kind: abi.ErrorArbitrary, Message: message}
}
