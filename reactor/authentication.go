package reactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// Connection is how to reach the cluster.
type Connection = credentials.Info

// Login is a way of the host to log in.
type Login struct {
	// Name is what login handlers know it by.
	Name string

	// Where says to people where it looks; may be empty.
	Where string

	// Get gives the credentials as they are now; nil if there are none, such as the
	// service account outside of a cluster.
	Get func(ctx context.Context) (*Connection, error)
}

// errNoLogin is in the error of an operator that has never been connected.
var errNoLogin = errors.New("login")

// authenticate gets the credentials from the login handlers, or from the host if
// there are none.
//
// Kopf: kopf._core.engines.activities.authenticate (v1.45).
func (op *Operator) authenticate(ctx context.Context, again bool) (found map[string]credentials.Info, err error) {
	title := "Initial authentication"
	if again {
		title = "Re-authentication"
	}
	log := op.Log.With().Str(LoggerField, "kopf.activities").Logger()
	log.Info().Msg(title + " has been initiated.")
	own, err := loginsOf(ctx, op.Logins, log)
	found = own
	e := op.hold()
	defer e.release()
	if len(e.registry.activities[abi.KindLogin]) > 0 {
		found, err = op.askLogins(ctx, e, own)
	}
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		log.Warn().Msg(title + " has failed: no credentials were retrieved from the login handlers.")
		if len(e.registry.activities[abi.KindLogin]) == 0 {
			return nil, fmt.Errorf("%w: there are none in %s", credentials.ErrDepleted, op.places()) // nobody else will find any
		}
	} else {
		log.Info().Msg(title + " has finished.")
	}
	return found, nil
}

// places are where the host has looked for its own credentials.
func (op *Operator) places() string {
	var all []string
	for _, login := range op.Logins {
		all = append(all, cmp.Or(login.Where, login.Name))
	}
	return strings.Join(all, ", nor in ")
}

// askLogins gets the credentials from the login handlers.
func (op *Operator) askLogins(ctx context.Context, e *generation, own map[string]credentials.Info) (map[string]credentials.Info, error) {
	a := op.activity(e, abi.KindLogin)
	unconnected := *e.services
	unconnected.caller = e.services.caller.Unconnected() // or else they would wait for themselves
	a.logins, a.services = slices.Sorted(maps.Keys(own)), &unconnected
	done, err := a.run(ctx)
	if err != nil {
		return nil, err
	}
	rules := credentials.Rules{Own: own, AllowServer: op.AllowServer, AllowProxy: op.AllowProxy}
	for _, login := range op.Logins {
		if base, ok := own[login.Name]; ok && (rules.Base == nil || base.Priority > rules.Base.Priority) {
			rules.Base = &base
		}
	}
	found := map[string]credentials.Info{}
	for id, result := range done.results {
		info, err := rules.Parse(dicts.Encode(result))
		if err != nil {
			return nil, fmt.Errorf("the result of the login handler %s: %w", quote(id), err)
		}
		found[id] = info
	}
	return found, nil
}

// loginsOf are the host's own credentials. One login that fails does not matter if
// there is another one; if all do, the errors are those of the login.
func loginsOf(ctx context.Context, logins []Login, log zerolog.Logger) (map[string]credentials.Info, error) {
	found := map[string]credentials.Info{}
	var failures []error
	for _, login := range logins {
		info, err := login.Get(ctx)
		switch {
		case err != nil:
			log.Error().Msg(fmt.Sprintf("Login with %s has failed: %v", quote(login.Name), err))
			failures = append(failures, err)
		case info != nil:
			log.Debug().Msg(fmt.Sprintf("Login with %s is possible.", quote(login.Name)))
			found[login.Name] = *info
		}
	}
	if len(found) == 0 {
		return nil, errors.Join(failures...)
	}
	return found, nil
}
