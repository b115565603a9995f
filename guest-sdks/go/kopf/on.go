package kopf

import (
	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// Each registration repeats the loop over its options, because the options of each kind have
// another type. One generic function for the loop makes the smallest module 1 KB larger, which
// is more than its size goal allows (scripts/sizes.sh).

// OnCreate registers a handler of new objects. The resource is a string or a
// Selector, see Target.
//
// See https://docs.kopf.dev/en/latest/handlers/#state-changing-handlers
func OnCreate[T Target](resource T, fn ChangeFunc, opts ...CreateOption) {
	selector := toSelector(resource)
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	onChange(abi.KindCreate, &selector, fn, d)
}

// OnUpdate registers a handler of objects that have been changed.
func OnUpdate[T Target](resource T, fn ChangeFunc, opts ...UpdateOption) {
	selector := toSelector(resource)
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	onChange(abi.KindUpdate, &selector, fn, d)
}

// OnDelete registers a handler of objects that are being deleted. The object
// stays until the handler has succeeded or failed for good, see Optional.
func OnDelete[T Target](resource T, fn ChangeFunc, opts ...DeleteOption) {
	selector := toSelector(resource)
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	onChange(abi.KindDelete, &selector, fn, d)
}

// OnResume registers a handler of objects that exist when the operator starts. It
// is called once for each of them.
func OnResume[T Target](resource T, fn ChangeFunc, opts ...ResumeOption) {
	selector := toSelector(resource)
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	onChange(abi.KindResume, &selector, fn, d)
}

// OnField registers a handler of one field, which is given with the option Field.
// It is called when the field appears, changes, or disappears; old, new and the
// difference are those of the field.
func OnField[T Target](resource T, fn ChangeFunc, opts ...UpdateOption) {
	selector := toSelector(resource)
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	onChange(abi.KindField, &selector, fn, d)
}

func onChange(kind abi.Kind, selector *Selector, fn ChangeFunc, d *declaration) {
	declare(kind, selector, functionOf(fn, fn == nil), runChange(fn), d)
}

// OnEvent registers a handler of all events of objects as they come: nothing is
// kept about them, and errors are logged and ignored.
func OnEvent[T Target](resource T, fn EventFunc, opts ...EventOption) {
	selector := toSelector(resource)
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	declare(abi.KindEvent, &selector, functionOf(fn, fn == nil), runEvent(fn), d)
}

// OnTimer registers a handler that is called again and again while an object
// exists, see Interval and Idle.
//
// See https://docs.kopf.dev/en/latest/timers/
func OnTimer[T Target](resource T, fn TimerFunc, opts ...TimerOption) {
	selector := toSelector(resource)
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	declare(abi.KindTimer, &selector, functionOf(fn, fn == nil), runTimer(fn), d)
}

// OnDaemon registers a handler that runs as long as an object exists.
//
// See https://docs.kopf.dev/en/latest/daemons/
func OnDaemon[T Target](resource T, fn DaemonFunc, opts ...DaemonOption) {
	selector := toSelector(resource)
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	declare(abi.KindDaemon, &selector, functionOf(fn, fn == nil), runDaemon(fn), d)
}

// OnIndex registers a function that makes the values of an index of objects.
// Handlers look into it by the id, see Call.Index.
//
// See https://docs.kopf.dev/en/latest/indexing/
func OnIndex[T Target](resource T, fn IndexFunc, opts ...IndexOption) {
	selector := toSelector(resource)
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	declare(abi.KindIndex, &selector, functionOf(fn, fn == nil), runIndex(fn), d)
}

// OnValidate registers a handler that allows or refuses changes of objects.
//
// See https://docs.kopf.dev/en/latest/admission/
func OnValidate[T Target](resource T, fn ReviewFunc, opts ...ReviewOption) {
	selector := toSelector(resource)
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	own := functionOf(fn, fn == nil)
	d.lowerCase(own)
	declare(abi.KindValidate, &selector, own, runReview(fn), d)
}

// OnMutate registers a handler that changes objects before they are stored, with
// its patch.
func OnMutate[T Target](resource T, fn ReviewFunc, opts ...ReviewOption) {
	selector := toSelector(resource)
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	own := functionOf(fn, fn == nil)
	d.lowerCase(own)
	declare(abi.KindMutate, &selector, own, runReview(fn), d)
}

// OnStartup registers a handler that is called before everything else. If it
// fails, the operator does not start.
//
// See https://docs.kopf.dev/en/latest/startup/
func OnStartup(fn ActivityFunc, opts ...ActivityOption) {
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	declare(abi.KindStartup, nil, functionOf(fn, fn == nil), runActivity(fn), d)
}

// OnCleanup registers a handler that is called after everything else.
func OnCleanup(fn ActivityFunc, opts ...ActivityOption) {
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	declare(abi.KindCleanup, nil, functionOf(fn, fn == nil), runActivity(fn), d)
}

// OnProbe registers a function whose result is shown by the liveness endpoint,
// under its id.
//
// See https://docs.kopf.dev/en/latest/probing/
func OnProbe(fn ActivityFunc, opts ...ActivityOption) {
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	declare(abi.KindProbe, nil, functionOf(fn, fn == nil), runActivity(fn), d)
}

// OnLogin registers a function whose result is a ConnectionInfo for the cluster.
//
// See https://docs.kopf.dev/en/latest/authentication/
func OnLogin(fn ActivityFunc, opts ...ActivityOption) {
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	declare(abi.KindLogin, nil, functionOf(fn, fn == nil), runActivity(fn), d)
}

// OnBackground registers work that belongs to no object: it runs from after the
// startup handlers until before the cleanup handlers.
func OnBackground(fn BackgroundFunc, opts ...ActivityOption) {
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	declare(abi.KindBackground, nil, functionOf(fn, fn == nil), runBackground(fn), d)
}

// run is a handler that is called with its own kind of argument.
func run[A any](make func(*guest.Task) A, patch func(A) *Patch, fn func(A) (any, error)) func(*guest.Task) guest.Done {
	return func(t *guest.Task) guest.Done {
		arg := make(t)
		return finish(patch(arg), func() (any, error) { return fn(arg) })
	}
}
