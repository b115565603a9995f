package kopf

import (
	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// Conversion is the argument of handlers that convert objects from one version of
// their resource to another one, see OnConvert.
type Conversion struct {
	Call

	From, To  string // the versions, without the group
	Name      string // "" if the object has none yet
	Namespace string // "" if the object has none

	// Object is the object, to be edited in place. Its apiVersion is set by the host,
	// which also takes of its metadata labels and annotations only.
	Object Map
}

// ConvertFunc is a conversion handler. An error fails the whole request of the user.
type ConvertFunc = func(c *Conversion) error

// OnConvert registers a handler that makes one step: from one version of a resource
// to another one. The host finds the shortest way for longer ones, so with versions
// v1, v2 and v3 two steps there and two back are enough:
//
//	kopf.OnConvert("widgets.example.com", "v1", "v2", toV2)
//	kopf.OnConvert("widgets.example.com", "v2", "v1", toV1)
//
// Nothing may be lost on the way there and back; see kopftest.Host.RoundTrip.
func OnConvert[T Target](resource T, from, to string, fn ConvertFunc, opts ...Option) {
	selector := toSelector(resource)
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	d.From, d.To = from, to
	declare(abi.KindConvert, &selector, functionOf(fn, fn == nil), runConversion(fn), d)
}

// newConversion makes the argument of a handler of a task.
func newConversion(t *guest.Task) *Conversion {
	c := &Conversion{Call: newCall(t), Name: t.Call.Name, Namespace: t.Call.Namespace, Object: JSON(t.Body).Map()}
	if step := t.Conversion(); step != nil {
		c.From, c.To = step.From, step.To
	}
	return c
}

func runConversion(fn ConvertFunc) func(*guest.Task) guest.Done {
	return func(t *guest.Task) guest.Done {
		c := newConversion(t)
		return finish(nil, func() (any, error) {
			err := fn(c)
			return c.Object, err
		})
	}
}
