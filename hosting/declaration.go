package hosting

import (
	"context"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/webhooks"
)

// Key identifies a declaration.
type Key struct {
	Kind      api.Kind
	Namespace string // empty for the cluster kind
	Name      string
}

// String returns the key as kubectl shows it: wasmoperator team/mailer.
func (k Key) String() string {
	name := string(k.Kind) + " "
	if k.Namespace != "" {
		name += k.Namespace + "/"
	}
	return name + k.Name
}

// Declaration is a declared operator, as its source knows it now.
type Declaration struct {
	Key        Key
	UID        string // distinguishes an object from a deleted one of the same name; may be empty
	Generation int64  // of the spec
	Spec       api.Spec

	// Problem is why the declaration is invalid, such as an unknown field. The spec is not
	// used then, and an operator that runs continues. If the declaration is Leaving, the spec says
	// what is removed, and no operator is started for it.
	Problem error

	// Local means that the declaration is a file of this machine, whose author may read other
	// files of its folder. Only then may a module be a file.
	Local string

	// Retry is a text of the author. When it changes, the host tries a failed declaration
	// again, also one in quarantine.
	Retry string

	// Leaving means that the declaration is being deleted, and that the operator has to leave
	// as Spec.OnRemoval says. Host.Options.Report gets nil when it has left.
	Leaving bool

	// Reported is the status that a host has reported before; nil: none.
	Reported *api.Status

	// Pin is the artifact to fetch, with its digest, because another host runs it: the tag of Spec.Module may have moved. It is of
	// the same repository. Empty: what Spec.Module names now.
	Pin string

	retries int  // calls of Host.Retry
	orphan  bool // Leaving, although the object is gone
}

// Sink receives declarations. A Host is one.
type Sink interface {
	Declare(d Declaration)
	Remove(key Key)
}

// Account returns the service account of the declaration.
func (d *Declaration) Account() Account {
	namespace := d.Key.Namespace
	if d.Key.Kind == api.Cluster {
		namespace = d.Spec.ServiceAccountNamespace
	}
	return Account{Namespace: namespace, Name: d.Spec.ServiceAccountName}
}

// Account is a service account.
type Account struct{ Namespace, Name string }

// String returns the name of the account as a user: system:serviceaccount:team:mailer.
func (a Account) String() string { return "system:serviceaccount:" + a.Namespace + ":" + a.Name }

// Groups returns the groups of the account as a user.
func (a Account) Groups() []string {
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + a.Namespace, "system:authenticated"}
}

// Gateway lets the API server reach the admission handlers of operators.
type Gateway interface {
	// Admission returns how the API server reaches an operator, with webhooks for a scope.
	Admission(d *Declaration, scope *webhooks.Scope) operator.Admission

	// Remove removes the webhook configurations of an operator that does not run any more.
	Remove(ctx context.Context, key Key) error
}

// Identities make requests as service accounts. No request is made with the rights of the
// host.
type Identities interface {
	// Login returns a login as an account, for operator.Options.
	Login(a Account) func(ctx context.Context) (*credentials.Info, error)

	// Secret reads a secret of the account's namespace, as this account.
	Secret(ctx context.Context, a Account, name string) (map[string][]byte, error)
}

// Fetched is a module that can be loaded.
type Fetched struct {
	Name     string          // for operator.Options.Modules and Open
	Artifact string          // the reference with the digest, or the name of the file; for people
	Signed   bool            // signatures were required, and exist
	Open     operator.Opener // reads the module, and the files that a manifest of this machine names
	Release  func()          // frees the memory of the module, after it was loaded; nil: nothing to free
}

// free forgets the content of the module, and frees its memory. Further calls do nothing.
func (f *Fetched) free() {
	if f.Release != nil {
		f.Release()
	}
	f.Open, f.Release = nil, nil
}

// Fetch gets the module of a declaration. The secrets are the contents of the declaration's
// pull secrets.
type Fetch func(ctx context.Context, d *Declaration, secrets []map[string][]byte) (*Fetched, error)
