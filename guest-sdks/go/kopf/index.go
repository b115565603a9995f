package kopf

import (
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/jsonlite"
)

// Indexed is the argument of functions that fill an index, see OnIndex.
type Indexed struct{ Object }

// IndexFunc makes the values of an object in an index: Pairs for values under
// keys, anything else for one value without a key. Nil keeps what is there.
type IndexFunc = func(o *Indexed) (any, error)

// Pairs are keys and values for an index. One key may have several values.
type Pairs []Pair

// Pair is a key and a value for an index; both may be anything that JSON can say.
type Pair struct{ Key, Value any }

// MarshalJSON writes a list of lists: [[key, value], …].
func (p Pairs) MarshalJSON() ([]byte, error) {
	list := make([]any, len(p))
	for i, pair := range p {
		list[i] = []any{pair.Key, pair.Value}
	}
	return jsonlite.Encode(list)
}

// newIndexed makes the argument of a handler of a task.
func newIndexed(t *guest.Task) *Indexed {
	o := &Indexed{}
	o.init(t)
	return o
}

func runIndex(fn IndexFunc) func(*guest.Task) guest.Done {
	return func(t *guest.Task) guest.Done {
		o, keyed := newIndexed(t), false
		done := finish(nil, func() (any, error) {
			result, err := fn(o)
			_, keyed = result.(Pairs)
			return result, err
		})
		done.Keyed = keyed
		return done
	}
}

// Index looks into an index of the operator, which stays in the host: only what
// is asked for is copied. An index that does not exist looks empty.
//
// See https://docs.kopf.dev/en/latest/indexing/
type Index struct {
	task *guest.Task
	name string
}

// Get lists the values of a key, in no particular order. The key nil has the
// values without a key.
func (x Index) Get(key any) []View {
	var values []View
	for _, value := range x.ask(guest.IndexGet, key).Items() {
		values = append(values, value)
	}
	return values
}

// Keys lists all keys, in no particular order.
func (x Index) Keys() []View {
	var keys []View
	for _, key := range x.ask(guest.IndexKeys, nil).Items() {
		keys = append(keys, key)
	}
	return keys
}

// Len is the number of keys.
func (x Index) Len() int { return x.ask(guest.IndexLen, nil).Int() }

// Has tells whether there are values of the key.
func (x Index) Has(key any) bool { return x.ask(guest.IndexHas, key).Bool() }

func (x Index) ask(op int, key any) View {
	text, err := jsonlite.Encode(key)
	if err != nil {
		return View{}
	}
	answer, err := x.task.Host.Index(x.task.ID, op, x.name, text)
	if err != nil {
		return View{}
	}
	return JSON(answer)
}
