package kopf

import (
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// TypedResource registers handlers of objects whose specs have a type:
//
//	var volumes = kopf.Typed[VolumeSpec]("volumes")
//
//	func init() { volumes.OnCreate(provision) }
//
//	func provision(c *kopf.ChangeOf[VolumeSpec]) (any, error) {
//		return c.Spec.Size, nil
//	}
//
// The spec is decoded once, before the handler is called; see Decode for the tags. For an object
// whose spec does not fit, the handler does not run: it fails permanently, the error names
// the field, and the object gets it as an event. A review is refused with the error.
//
// Tests make the arguments as literals:
//
//	provision(&kopf.ChangeOf[VolumeSpec]{Change: host.Change(fixture), Spec: VolumeSpec{Size: 5}})
type TypedResource[S any] struct{ selector Selector }

// The registrations below repeat the loop over their options; on.go says why.

// Typed declares the type of the specs of a resource. The resource is a string or a
// Selector, see Target.
func Typed[S any, T Target](resource T) TypedResource[S] {
	return TypedResource[S]{toSelector(resource)}
}

// ChangeOf is a Change of an object whose spec has a type.
type ChangeOf[S any] struct {
	*Change
	Spec S // as a View, it is Change.Spec
}

// EventOf is an Event of an object whose spec has a type.
type EventOf[S any] struct {
	*Event
	Spec S // as a View, it is Event.Spec
}

// TimerOf is a Timer of an object whose spec has a type.
type TimerOf[S any] struct {
	*Timer
	Spec S // as a View, it is Timer.Spec
}

// DaemonOf is a Daemon of an object whose spec has a type. After each wait, the spec is that
// of the current object. A spec that does not fit the type leaves the previous one.
type DaemonOf[S any] struct {
	*Daemon
	Spec S // as a View, it is Daemon.Spec
}

// ReviewOf is a Review of an object whose spec has a type.
type ReviewOf[S any] struct {
	*Review
	Spec S // as a View, it is Review.Spec
}

// OnCreate registers a handler of new objects, as the function OnCreate does.
func (r TypedResource[S]) OnCreate(fn func(*ChangeOf[S]) (any, error), opts ...CreateOption) {
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	r.onChange(abi.KindCreate, fn, d)
}

// OnUpdate registers a handler of objects that have been changed, as the function OnUpdate does.
func (r TypedResource[S]) OnUpdate(fn func(*ChangeOf[S]) (any, error), opts ...UpdateOption) {
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	r.onChange(abi.KindUpdate, fn, d)
}

// OnDelete registers a handler of objects that are being deleted, as the function OnDelete does.
func (r TypedResource[S]) OnDelete(fn func(*ChangeOf[S]) (any, error), opts ...DeleteOption) {
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	r.onChange(abi.KindDelete, fn, d)
}

// OnResume registers a handler of objects that exist when the operator starts, as the function OnResume does.
func (r TypedResource[S]) OnResume(fn func(*ChangeOf[S]) (any, error), opts ...ResumeOption) {
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	r.onChange(abi.KindResume, fn, d)
}

// OnField registers a handler of one field, as the function OnField does.
func (r TypedResource[S]) OnField(fn func(*ChangeOf[S]) (any, error), opts ...UpdateOption) {
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	r.onChange(abi.KindField, fn, d)
}

func (r TypedResource[S]) onChange(kind abi.Kind, fn func(*ChangeOf[S]) (any, error), d *declaration) {
	declare(kind, &r.selector, functionOf(fn, fn == nil), func(t *guest.Task) guest.Done {
		c := &ChangeOf[S]{Change: newChange(t)}
		if unfit := specInto(t, c.Change.Spec, &c.Spec); unfit != nil {
			return *unfit
		}
		return c.finish(func() (any, error) { return fn(c) })
	}, d)
}

// OnEvent registers a handler of all events of objects, as the function OnEvent does.
func (r TypedResource[S]) OnEvent(fn func(*EventOf[S]) (any, error), opts ...EventOption) {
	handler := new(declaration)
	for _, opt := range opts {
		handler.set(opt)
	}
	declare(abi.KindEvent, &r.selector, functionOf(fn, fn == nil), func(t *guest.Task) guest.Done {
		e := &EventOf[S]{Event: newEvent(t)}
		if unfit := specInto(t, e.Event.Spec, &e.Spec); unfit != nil {
			return *unfit
		}
		return finish(e.Patch, func() (any, error) { return fn(e) })
	}, handler)
}

// OnTimer registers a handler that is called again and again, as the function OnTimer does.
func (r TypedResource[S]) OnTimer(fn func(*TimerOf[S]) (any, error), opts ...TimerOption) {
	handler := new(declaration)
	for _, opt := range opts {
		handler.set(opt)
	}
	declare(abi.KindTimer, &r.selector, functionOf(fn, fn == nil), func(t *guest.Task) guest.Done {
		timer := &TimerOf[S]{Timer: newTimer(t)}
		if unfit := specInto(t, timer.Timer.Spec, &timer.Spec); unfit != nil {
			return *unfit
		}
		return finish(timer.Patch, func() (any, error) { return fn(timer) })
	}, handler)
}

// OnDaemon registers a handler that runs as long as an object exists, as the function OnDaemon does.
func (r TypedResource[S]) OnDaemon(fn func(*DaemonOf[S]) (any, error), opts ...DaemonOption) {
	handler := new(declaration)
	for _, opt := range opts {
		handler.set(opt)
	}
	declare(abi.KindDaemon, &r.selector, functionOf(fn, fn == nil), func(t *guest.Task) guest.Done {
		d := &DaemonOf[S]{Daemon: newDaemon(t)}
		if unfit := specInto(t, d.Daemon.Spec, &d.Spec); unfit != nil {
			return *unfit
		}
		return finish(d.Patch, func() (any, error) { return fn(d) })
	}, handler)
}

// OnValidate registers a handler that allows or refuses changes of objects, as the function OnValidate does.
func (r TypedResource[S]) OnValidate(fn func(*ReviewOf[S]) error, opts ...ReviewOption) {
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	r.onReview(abi.KindValidate, fn, d)
}

// OnMutate registers a handler that changes objects before they are stored, as the function OnMutate does.
func (r TypedResource[S]) OnMutate(fn func(*ReviewOf[S]) error, opts ...ReviewOption) {
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	r.onReview(abi.KindMutate, fn, d)
}

func (r TypedResource[S]) onReview(kind abi.Kind, fn func(*ReviewOf[S]) error, d *declaration) {
	own := functionOf(fn, fn == nil)
	d.lowerCase(own)
	declare(kind, &r.selector, own, func(t *guest.Task) guest.Done {
		review := &ReviewOf[S]{Review: newReview(t)}
		return review.finish(func() (any, error) {
			if err := review.Review.Spec.DecodeInto(&review.Spec); err != nil {
				return nil, err
			}
			return nil, fn(review)
		})
	}, d)
}

// Wait is Daemon.Wait, and decodes the spec again.
func (d *DaemonOf[S]) Wait(t time.Duration) (stopped bool) {
	stopped = d.Daemon.Wait(t)
	d.renew()
	return stopped
}

// Sleep is Daemon.Sleep, and decodes the spec again.
func (d *DaemonOf[S]) Sleep(t time.Duration) error {
	err := d.Daemon.Sleep(t)
	d.renew()
	return err
}

// renew decodes the newest spec.
func (d *DaemonOf[S]) renew() {
	if spec, err := Decode[S](d.Daemon.Spec); err == nil {
		d.Spec = spec
	}
}

// specInto decodes a spec. If it does not fit, the object gets an event about that, and the
// handler ends with what is returned.
func specInto(t *guest.Task, spec View, target any) *guest.Done {
	err := spec.DecodeInto(target)
	if err == nil {
		return nil
	}
	if posting := (Events{task: t}).Post(EventError, typeName(err), err.Error()); posting != nil {
		t.Host.Log(t.ID, LevelDebug, "no event about this: "+posting.Error())
	}
	return &guest.Done{Outcome: abi.Outcome{Error: wireError(err)}}
}
