package invocations

import (
	"slices"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/diffs"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
	"github.com/kopf-wasm/kopf/stores"
)

// check refuses options that the handler would not get.
func (c *call) check() error {
	kind := c.handler.Spec.Kind
	reviews := kind == abi.KindValidate || kind == abi.KindMutate
	switch {
	case (activities[kind] != "" || kind == abi.KindBackground) && (c.Object != nil || c.Old != nil):
		return usage("the handler %q is called without an object: leave out its file", c.handler.ID)
	case c.Operation != "" && !reviews:
		return usage("--operation is for admission handlers, and %q is a handler of the kind %s", c.handler.ID, kind)
	case c.Old == nil:
		return nil
	case reviews && c.Operation != "" && c.Operation != "UPDATE":
		return usage("--old is for updates: leave it out with --operation %s", c.Operation)
	case reviews || slices.Contains([]abi.Kind{abi.KindCreate, abi.KindUpdate, abi.KindDelete, abi.KindResume, abi.KindField}, kind):
		return nil
	}
	return usage("--old is for handlers of changes and of admission, and %q is a handler of the kind %s", c.handler.ID, kind)
}

// kind returns the kind of cause that the handler is called for.
func (c *call) kind(o *handling.Object) (handling.Kind, error) {
	kind := c.handler.Spec.Kind
	switch kind {
	case abi.KindStartup, abi.KindCleanup, abi.KindLogin, abi.KindProbe, abi.KindBackground:
		return c.activity(), nil
	}
	if c.Object == nil {
		return nil, usage("the handler %q needs an object: name its file", c.handler.ID)
	}
	switch kind {
	case abi.KindEvent:
		o.EventType = new("ADDED")
		return handling.RawEvent{}, nil
	case abi.KindTimer, abi.KindDaemon:
		c.stopper = stoppers.New()
		return &handling.Daemon{Stopper: c.stopper, Live: func() []byte { return o.Raw }}, nil
	case abi.KindIndex:
		return nil, nil //nolint:nilnil // index handlers know only the object
	case abi.KindValidate, abi.KindMutate:
		return c.review(), nil
	case abi.KindConvert:
		return &conversion{abi.Conversion{From: c.handler.Spec.From, To: c.handler.Spec.To}}, nil
	default:
		return c.change()
	}
}

// activities are the names of the activities, as the kwarg activity has them.
var activities = map[abi.Kind]string{
	abi.KindStartup: "startup", abi.KindCleanup: "cleanup", abi.KindLogin: "authentication", abi.KindProbe: "probe",
}

func (c *call) activity() *handling.Activity {
	kind := &handling.Activity{Name: activities[c.handler.Spec.Kind]}
	if text, err := c.Settings.JSON(); err == nil {
		kind.Settings = abi.Raw(text)
	}
	if c.handler.Spec.Kind == abi.KindBackground {
		c.stopper = stoppers.New()
		kind.Stopper = c.stopper
	}
	return kind
}

// change compares the essences of the objects, as the operator does.
func (c *call) change() (*handling.Change, error) {
	reason := causes.Reason(c.Reason)
	fresh, err := c.essence(c.Object)
	if err != nil {
		return nil, err
	}
	var old dicts.Object
	switch {
	case c.Old != nil:
		old, err = c.essence(c.Old)
	case reason != causes.Create:
		if old, err = c.Settings.Persistence.DiffBase.Fetch(c.Object); err == nil && old == nil && reason == causes.Update {
			return nil, usage("an update needs the object before it: --old FILE")
		}
		if old == nil {
			old = fresh
		}
	}
	if err != nil {
		return nil, err
	}
	k := &handling.Change{Reason: reason, Initial: reason == causes.Resume, New: fresh}
	if old != nil {
		k.Old = old
	}
	k.Diff = diffs.Compute(k.Old, k.New, diffs.Full)
	return k, nil
}

func (c *call) essence(object dicts.Object) (dicts.Object, error) {
	var extra []stores.Path
	if field := c.handler.Spec.Field; len(field) > 0 {
		extra = append(extra, stores.Path(field))
	}
	essence, err := c.Settings.Persistence.DiffBase.Build(object, extra)
	if err != nil {
		return nil, err
	}
	return c.Settings.Persistence.Progress.Clear(essence)
}

// review is a request of an API server that does not exist.
type review struct {
	abi.Admission
	old, fresh dicts.Object
}

func (c *call) review() *review {
	r := &review{fresh: c.Object, old: c.Old}
	r.Operation, r.UserInfo, r.Headers = c.Operation, abi.Raw(`{"username":"kopf-invoke"}`), map[string][]string{}
	switch {
	case r.Operation != "":
	case c.Old != nil:
		r.Operation = "UPDATE"
	default:
		r.Operation = "CREATE"
	}
	if r.Operation == "DELETE" {
		r.old, r.fresh = c.Object, nil
	}
	return r
}

// Kwargs implements handling.Kind.
func (r *review) Kwargs(inv *abi.Invocation) { inv.Admission = &r.Admission }

// Segment implements handling.Kind.
func (r *review) Segment(_ *handling.Object, tag uint32) ([]byte, bool) {
	switch tag {
	case abi.TagOld:
		return encoded(r.old), true
	case abi.TagNew:
		return encoded(r.fresh), true
	case abi.TagDiff:
		return dicts.Encode(diffs.Compute(dicts.OrNil(r.old), dicts.OrNil(r.fresh), diffs.Full).JSON()), true
	}
	return nil, false
}

func encoded(object dicts.Object) []byte {
	if object == nil {
		return nil
	}
	return dicts.Encode(object)
}

// conversion is one step between two versions.
type conversion struct{ abi.Conversion }

// Kwargs implements handling.Kind.
func (c *conversion) Kwargs(inv *abi.Invocation) { inv.Conversion = &c.Conversion }

// Segment implements handling.Kind.
func (*conversion) Segment(*handling.Object, uint32) ([]byte, bool) { return nil, false }
