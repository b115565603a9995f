package asm

// Addresses of the registration, of the answer and of incoming messages in the memory of a Guest.
const (
	registrationAt = 16
	stepAt         = 2048
	inputAt        = 4096
)

// Registration and Done are the answers of a Guest.
const (
	Registration = `{"handlers":[{"kind":"create","id":"fn","resource":{"args":["pods"]}}]}`
	Done         = `{"step":"done","result":1}`
)

// Text is the result of an export whose message lies there.
func Text(at int, text string) []byte { return I64Const(int64(at)<<32 | int64(len(text))) }

// Guest is the smallest guest: kopf_start runs the code and then answers Done.
// With and Without change its exports. Other functions follow those four.
func Guest(start []byte, more ...Func) Module {
	return Module{
		Memory: []uint32{1},
		Data:   []Data{{registrationAt, Registration}, {stepAt, Done}},
		Funcs: append([]Func{
			{Export: "kopf_abi_v1"},
			{Export: "kopf_alloc", Params: []byte{I32}, Results: []byte{I32}, Code: I32Const(inputAt)},
			{Export: "kopf_register", Params: []byte{I32, I32}, Results: []byte{I64}, Code: Text(registrationAt, Registration)},
			{Export: "kopf_start", Params: []byte{I32, I32, I32}, Results: []byte{I64}, Code: Cat(start, Text(stepAt, Done))},
		}, more...),
	}
}

// FirstMore is the index of the first function that was given to Guest.
const FirstMore = 4

// Without removes an export, but not its function.
func (m Module) Without(export string) Module {
	m.Funcs = append([]Func(nil), m.Funcs...)
	for i := range m.Funcs {
		if m.Funcs[i].Export == export {
			m.Funcs[i].Export = ""
		}
	}
	return m
}

// With replaces the function of an export, or adds it.
func (m Module) With(f Func) Module {
	m.Funcs = append([]Func(nil), m.Funcs...)
	for i := range m.Funcs {
		if m.Funcs[i].Export == f.Export {
			m.Funcs[i] = f
			return m
		}
	}
	m.Funcs = append(m.Funcs, f)
	return m
}
