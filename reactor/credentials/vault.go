package credentials

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// ErrDepleted means that the cluster has refused all credentials and a new login provides
// no others.
var ErrDepleted = errors.New("ran out of valid credentials")

// These constants limit a vault.
const (
	// refusedLimit is how many refused credentials are remembered, at 32 bytes each.
	refusedLimit = 1000

	// loginPause is the least time between two logins. It protects the cluster from login
	// handlers that return new invalid credentials every time.
	loginPause = time.Second
)

// Login returns new credentials by the ids of the handlers that provided them. The vault
// calls it again when all are used up. An error ends the operator.
type Login func(ctx context.Context, again bool) (map[string]Info, error)

// Vault holds the credentials that are not known to be invalid.
//
// # Guarantees
//
//   - Refused credentials are never returned again, except those of Lasting.
//   - All callers that find no credentials wait for one common login.
//   - While credentials are left, no goroutine belongs to the vault.
//
// Kopf: kopf._cogs.structs.credentials.Vault (v1.45).
type Vault struct {
	login   Login // nil: no login is possible
	lasting bool  // refusals change nothing
	logins  serving

	mu      sync.Mutex // guards the fields below
	items   []*Item
	refused []fingerprint
	cause   error         // the reason of the last refusal
	ready   chan struct{} // closed when credentials are available again, or after a failure
	failure error         // the vault stays empty for ever
}

// New makes an empty vault. The caller calls Serve or Run, which log in.
func New(login Login) *Vault {
	return &Vault{login: login, ready: make(chan struct{})}
}

// Of makes a vault with credentials that cannot be replaced.
func Of(info Info) *Vault {
	return &Vault{items: []*Item{newItem(info)}}
}

// Lasting makes a vault with credentials that stay when the cluster refuses them: those of a process that outlives such a moment. An API
// server may refuse everybody while it does not reach its etcd, and a token in a file is replaced.
func Lasting(info Info) *Vault {
	return &Vault{items: []*Item{newItem(info)}, lasting: true}
}

// Take returns any of the credentials with the highest priority. If the vault is empty, it
// waits for a login.
//
// Errors: ErrDepleted with the reason of the last refusal, and those of the login and of
// the context.
func (v *Vault) Take(ctx context.Context) (*Item, error) {
	for {
		item, ready, err := v.pick(time.Now())
		if item != nil || err != nil {
			return item, err
		}
		select {
		case <-ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// pick returns credentials, or requests a login and returns the channel to wait for.
func (v *Vault) pick(now time.Time) (*Item, <-chan struct{}, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.failure != nil {
		return nil, nil, v.failure
	}
	v.drop(func(item *Item) bool { return item.expired(now) })
	if len(v.items) > 0 {
		best := v.best()
		return best[rand.IntN(len(best))], nil, nil
	}
	if v.login == nil {
		v.failure = v.depleted()
		return nil, nil, v.failure
	}
	v.want()
	return nil, v.ready, nil
}

// best returns the credentials with the highest priority.
func (v *Vault) best() []*Item {
	top := slices.MaxFunc(v.items, func(a, b *Item) int { return cmp.Compare(a.Priority, b.Priority) }).Priority
	if !slices.ContainsFunc(v.items, func(item *Item) bool { return item.Priority != top }) {
		return v.items
	}
	var best []*Item
	for _, item := range v.items {
		if item.Priority == top {
			best = append(best, item)
		}
	}
	return best
}

// Invalidate marks credentials as refused by the cluster, with the reason. A second call
// for the same credentials does nothing. It returns whether to ask for others: those of Lasting
// have none, so that the refusal is the result of the request.
func (v *Vault) Invalidate(refused *Item, cause error) (others bool) {
	if v.lasting {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if !slices.Contains(v.items, refused) {
		return true // another caller has invalidated them
	}
	v.cause = cause
	if len(v.refused) == refusedLimit {
		v.refused = v.refused[1:]
	}
	v.refused = append(v.refused, refused.fingerprint)
	v.drop(func(item *Item) bool { return item == refused })
	return true
}

// drop removes obsolete credentials. When none are left, callers of Take wait for a login.
func (v *Vault) drop(obsolete func(*Item) bool) {
	had := len(v.items)
	v.items = slices.DeleteFunc(v.items, func(item *Item) bool {
		if obsolete(item) {
			item.leave()
			return true
		}
		return false
	})
	if had > 0 && len(v.items) == 0 {
		v.ready = make(chan struct{})
	}
}

// fill stores the results of a login, except refused credentials.
func (v *Vault) fill(infos map[string]Info, now time.Time) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, info := range infos {
		if info.expired(now) {
			v.cause = fmt.Errorf("those of %q have expired at %s", id, info.Expiration.Format(time.RFC3339))
			continue
		}
		if item := newItem(info); !slices.Contains(v.refused, item.fingerprint) {
			v.items = append(v.items, item)
		}
	}
	if len(v.items) == 0 {
		return v.depleted()
	}
	v.logins.running = false // the next one is for callers that come after these credentials
	close(v.ready)
	return nil
}

func (v *Vault) depleted() error {
	if v.cause == nil {
		return fmt.Errorf("%w: the login handlers return none", ErrDepleted)
	}
	return fmt.Errorf("%w: %w", ErrDepleted, v.cause)
}

// fail wakes all waiting callers with an error.
func (v *Vault) fail(err error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failure = err
	close(v.ready)
	return err
}
