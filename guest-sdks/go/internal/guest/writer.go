package guest

import (
	"strconv"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/jsonlite"
)

// writer writes messages by hand, for the reasons that they are decoded by hand.
// Its methods leave out what has the zero value, but for those that say otherwise. They
// are not inlined: there are many calls, which would be larger than the methods.
type writer struct{ buf []byte }

// open begins an object; it is ended with close.
//
//go:noinline
func (w *writer) open() { w.buf = append(w.buf, '{') }

//go:noinline
func (w *writer) close() { w.buf = append(w.buf, '}') }

// key writes a comma, if needed, and the key.
func (w *writer) key(key string) {
	if last := w.buf[len(w.buf)-1]; last != '{' && last != '[' {
		w.buf = append(w.buf, ',')
	}
	w.buf = append(jsonlite.AppendString(w.buf, key), ':')
}

// must writes a string, the empty one too.
//
//go:noinline
func (w *writer) must(key, value string) {
	w.key(key)
	w.buf = jsonlite.AppendString(w.buf, value)
}

//go:noinline
func (w *writer) text(key, value string) {
	if value != "" {
		w.must(key, value)
	}
}

//go:noinline
func (w *writer) yes(key string, value bool) {
	if value {
		w.raw(key, abi.Raw("true"))
	}
}

//go:noinline
func (w *writer) number(key string, value int) {
	if value != 0 {
		w.key(key)
		w.buf = strconv.AppendInt(w.buf, int64(value), 10)
	}
}

//go:noinline
func (w *writer) count(key string, value *int) {
	if value != nil {
		w.key(key)
		w.buf = strconv.AppendInt(w.buf, int64(*value), 10)
	}
}

//go:noinline
func (w *writer) seconds(key string, value *float64) {
	if value != nil {
		w.key(key)
		w.buf = strconv.AppendFloat(w.buf, *value, 'f', -1, 64)
	}
}

//go:noinline
func (w *writer) raw(key string, value abi.Raw) {
	if len(value) > 0 {
		w.key(key)
		w.buf = append(w.buf, value...)
	}
}

// list writes items with a function; a list of none too.
func (w *writer) list(key string, items int, item func(i int)) {
	w.key(key)
	w.buf = append(w.buf, '[')
	for i := range items {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		item(i)
	}
	w.buf = append(w.buf, ']')
}

//go:noinline
func (w *writer) texts(key string, values []string) {
	if len(values) > 0 {
		w.list(key, len(values), func(i int) { w.buf = jsonlite.AppendString(w.buf, values[i]) })
	}
}

// raws writes a map of values, sorted by its keys.
func (w *writer) raws(key string, values map[string]abi.Raw) {
	if len(values) == 0 {
		return
	}
	w.key(key)
	w.open()
	for _, name := range jsonlite.SortedKeys(values) {
		w.raw(name, values[name])
	}
	w.close()
}

func (w *writer) headers(key string, values map[string][]string) {
	if len(values) == 0 {
		return
	}
	w.key(key)
	w.open()
	for _, name := range jsonlite.SortedKeys(values) {
		w.texts(name, values[name])
	}
	w.close()
}

func (w *writer) fault(key string, e *abi.Error) {
	if e == nil {
		return
	}
	w.key(key)
	w.open()
	w.must("kind", string(e.Kind))
	w.must("message", e.Message)
	w.text("type", e.Type)
	w.text("stack", e.Stack)
	if e.Delay.None {
		w.raw("delay", abi.Raw("null"))
	} else if e.Delay.Said {
		w.seconds("delay", &e.Delay.Seconds)
	}
	w.number("code", e.Code)
	w.close()
}
