package sharing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/rights"
)

// Scope is what a watch shows: the objects of one resource in one namespace.
type Scope struct {
	Group, Version, Plural string
	Namespace              string // empty: the whole cluster
}

// Access reports whether the account of an operator may both list and watch all objects of a
// scope. It must not use connections that the operator's guests can redirect.
type Access func(ctx context.Context, s Scope) (allowed bool, err error)

// These constants say how long an answer of Access is valid.
const (
	recheck = time.Minute
	trusted = 2 * recheck // if Access fails
	asking  = 10 * time.Second
	least   = time.Second // between two questions, however many requests are refused
)

// ownAccess asks the API server about the account of a client.
//
// See https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/self-subject-access-review-v1/
func ownAccess(client *clients.Client) Access {
	return func(ctx context.Context, s Scope) (bool, error) {
		for _, verb := range []string{"list", "watch"} {
			if allowed, err := ask(ctx, client, verb, s); !allowed || err != nil {
				return false, err
			}
		}
		return true, nil
	}
}

// ask asks for one verb.
func ask(ctx context.Context, client *clients.Client, verb string, s Scope) (bool, error) {
	question := rights.Question{Resource: &rights.Resource{Verb: verb, Group: s.Group, Version: s.Version, Plural: s.Plural, Namespace: s.Namespace}}
	allowed, err := question.Ask(ctx, client.Ask)
	if err != nil {
		return false, fmt.Errorf("the right to %s %s: %w", verb, s.Plural, err)
	}
	return allowed, nil
}

// right is the known right of one subscriber. One goroutine uses it.
type right struct {
	access  Access
	scope   Scope
	refused func() uint64 // the number of the account's refused requests
	log     func(level int, message string)

	confirmed time.Time // when the right was confirmed; zero: it does not hold
	asked     time.Time // when it was asked for
	next      time.Time // when to ask again
	at        uint64    // refused, when it was asked for
}

// holds reports whether the subscriber may see the objects. It asks at the beginning, once
// in a minute, and after a refused request.
func (r *right) holds(ctx context.Context) bool {
	now := time.Now()
	if now.Before(r.next) && (r.refused() == r.at || now.Before(r.asked.Add(least))) {
		return !r.confirmed.IsZero()
	}
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	allowed, err := r.access(ctx, r.scope)
	r.asked, r.at, r.next = now, r.refused(), now.Add(recheck-rand.N(recheck/8)) // subscribers that begin together do not ask together for ever
	switch {
	case err != nil && now.Before(r.confirmed.Add(trusted)):
		r.next = now.Add(asking)
	case err != nil, !allowed:
		r.confirmed = time.Time{}
		r.log(abi.LevelDebug, fmt.Sprintf("The watch of %s is not shared: the account may not list and watch them, or this is unknown: %v", r.scope.Plural, err))
	default:
		r.confirmed = now
	}
	return !r.confirmed.IsZero()
}
