package prepare

// valueType is the type of a value.
type valueType byte

// Value types, and the code of a block type without a value.
//
// See https://www.w3.org/TR/wasm-core-2/#types%E2%91%A2
const (
	typeI32       valueType = 0x7f
	typeI64       valueType = 0x7e
	typeF32       valueType = 0x7d
	typeF64       valueType = 0x7c
	typeV128      valueType = 0x7b
	typeFuncRef   valueType = 0x70
	typeExternRef valueType = 0x6f
	typeEmpty               = 0x40
)

// known reports whether the type exists.
func (v valueType) known() bool {
	return v >= typeV128 && v <= typeI32 || v.reference()
}

// number reports whether the type is i32, i64, f32 or f64.
func (v valueType) number() bool { return v >= typeF64 && v <= typeI32 }

func (v valueType) reference() bool { return v == typeFuncRef || v == typeExternRef }

func (v valueType) String() string {
	switch v {
	case typeI32:
		return "i32"
	case typeI64:
		return "i64"
	case typeF32:
		return "f32"
	case typeF64:
		return "f64"
	case typeV128:
		return "v128"
	case typeFuncRef:
		return "funcref"
	}
	return "externref"
}

// funcType is the type of a function.
type funcType struct{ params, results []valueType }

// shownTypes is the maximum number of parameters, and of results, in the text of a type.
const shownTypes = 16

// String writes a type as "(i32, i32) -> i64", and no results as "()".
func (t funcType) String() string {
	out := make([]byte, 0, 512)
	out = append(appendListed(append(out, '('), t.params), ") -> "...)
	if len(t.results) == 1 {
		return string(appendListed(out, t.results))
	}
	return string(append(appendListed(append(out, '('), t.results), ')'))
}

func appendListed(out []byte, types []valueType) []byte {
	for i, t := range types {
		if i > 0 {
			out = append(out, ", "...)
		}
		if i == shownTypes {
			return append(out, "…"...)
		}
		out = append(out, t.String()...)
	}
	return out
}

// limits bound the size of a table or of a memory.
type limits struct {
	min, max uint32
	bounded  bool // max is set
}

// atMost returns the limits with an upper bound.
func (l limits) atMost(most uint32) limits {
	if l.bounded {
		most = min(most, l.max)
	}
	return limits{min: l.min, max: most, bounded: true}
}

// valueType reads a value type.
func (r *reader) valueType() valueType {
	t := valueType(r.Byte())
	if r.Err == nil && !t.known() {
		r.Pos--
		r.Feature("%s (value type %#x)", featureOfType(byte(t)), byte(t))
	}
	return t
}

// refType reads a reference type.
func (r *reader) refType() valueType {
	t := valueType(r.Byte())
	if r.Err == nil && !t.reference() {
		r.Pos--
		r.Feature("%s (reference type %#x)", featureOfType(byte(t)), byte(t))
	}
	return t
}

// featureOfType names the feature that an unknown type belongs to.
func featureOfType(t byte) string {
	switch {
	case t == 0x63, t == 0x64:
		return "typed function references"
	case t == 0x69:
		return "exceptions"
	case t >= 0x65 && t <= 0x74:
		return "garbage collection"
	}
	return "unknown"
}

// funcType reads the type of a function.
func (r *reader) funcType() funcType {
	if form := r.Byte(); r.Err == nil && form != 0x60 {
		r.Feature("garbage collection (type form %#x)", form)
	}
	return funcType{params: r.valueTypes(), results: r.valueTypes()}
}

func (r *reader) valueTypes() []valueType {
	n := r.Count()
	if n > maxParams {
		r.Stop(ErrLimit, "a type with %d parameters or results; at most %d", n, maxParams)
		return nil
	}
	types := make([]valueType, 0, n)
	for ; n > 0 && r.Err == nil; n-- {
		types = append(types, r.valueType())
	}
	return types
}

// limits reads the limits of a table or of a memory. Both are at most the given maximum.
func (r *reader) limits(most uint64) limits {
	l := limits{}
	switch flags := r.Byte(); {
	case flags > 7:
		r.Fail("limits with flags %#x", flags)
	case flags&2 != 0:
		r.Feature("threads (a shared memory)")
	case flags&4 != 0:
		r.Feature("memory64")
	case flags == 1:
		l.bounded = true
	}
	l.min = r.Linked()
	if l.bounded {
		l.max = r.Linked()
	}
	if uint64(l.min) > most || uint64(l.max) > most || l.bounded && l.min > l.max {
		r.Fail("limits of %d to %d", l.min, l.max)
	}
	return l
}

// mutable reads whether a global can be changed.
func (r *reader) mutable() bool {
	flag := r.Byte()
	if flag > 1 {
		r.Fail("global with mutability %#x", flag)
	}
	return flag == 1
}
