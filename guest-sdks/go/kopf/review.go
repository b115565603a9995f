package kopf

import "github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"

// Review is the argument of admission handlers, see OnValidate and OnMutate.
//
// See https://docs.kopf.dev/en/latest/admission/
type Review struct {
	Object
	Comparison

	Operation   string // Creating, Updating, Deleting, Connecting
	Subresource string // "" for the object itself
	DryRun      bool   // there must be no side effects
	UserInfo    View   // username, uid, groups, extra
	Headers     map[string][]string
	SSLPeer     View // of the client's certificate, if there is one

	Patch    *Patch // for OnMutate
	warnings []string
}

// ReviewFunc is an admission handler. An error refuses the change: see AdmissionError.
type ReviewFunc = func(r *Review) error

// newReview makes the argument of a handler of a task.
func newReview(t *guest.Task) *Review {
	r := &Review{}
	r.Patch = r.patch.begin()
	r.compare(t)
	r.init(t)
	if a := t.Admission(); a != nil {
		r.Operation, r.Subresource, r.DryRun, r.Headers = a.Operation, a.Subresource, a.DryRun, a.Headers
		r.UserInfo = View{&node{raw: a.UserInfo, key: "userinfo"}}
		r.SSLPeer = View{&node{raw: a.SSLPeer, key: "sslpeer"}}
	}
	return r
}

// Warn adds a warning that is shown to the user.
func (r *Review) Warn(message string) { r.warnings = append(r.warnings, message) }

func runReview(fn ReviewFunc) func(*guest.Task) guest.Done {
	return func(t *guest.Task) guest.Done {
		r := newReview(t)
		return r.finish(func() (any, error) { return nil, fn(r) })
	}
}

// finish calls a handler, and makes the outcome of the task.
func (r *Review) finish(call func() (any, error)) guest.Done {
	done := finish(r.Patch, call)
	done.Warnings = r.warnings
	return done
}
