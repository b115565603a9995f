package reactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/loggers"
)

// errNoLogin is part of the error of an operator that has never connected to its cluster.
var errNoLogin = errors.New("cannot log in to the cluster: check the login handlers, or the kubeconfig or service account of the operator")

// authenticate gets the credentials from the login handlers, or from the host if there are
// no login handlers.
//
// Kopf: kopf._core.engines.activities.authenticate (v1.45).
func (op *Operator) authenticate(ctx context.Context, again bool) (found map[string]credentials.Info, err error) {
	title := "Initial authentication"
	if again {
		title = "Re-authentication"
	}
	log := op.Log.With().Str(loggers.Field, "kopf.activities").Logger()
	log.Info().Msg(title + " has been initiated.")
	own, err := credentials.FromHost(ctx, op.Logins, log)
	found = own
	e := op.generations.Hold()
	defer e.Release()
	if len(e.Registry.Activities[abi.KindLogin]) > 0 {
		found, err = op.askLogins(ctx, e, own)
	}
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		log.Warn().Msg(title + " has failed: no credentials were retrieved from the login handlers.")
		if len(e.Registry.Activities[abi.KindLogin]) == 0 {
			return nil, fmt.Errorf("%w: none in %s", credentials.ErrDepleted, op.places()) // a retry finds no others
		}
	} else {
		log.Info().Msg(title + " has finished.")
	}
	return found, nil
}

// places lists where the host has looked for its own credentials.
func (op *Operator) places() string {
	var all []string
	for _, login := range op.Logins {
		all = append(all, cmp.Or(login.Where, login.Name))
	}
	return strings.Join(all, ", nor in ")
}

// askLogins gets the credentials from the login handlers.
func (op *Operator) askLogins(ctx context.Context, e *generations.Generation, own map[string]credentials.Info) (map[string]credentials.Info, error) {
	a := op.activity(e, abi.KindLogin)
	unconnected := *e.Services
	unconnected.Caller = e.Services.Caller.Unconnected() // a request to the cluster would wait for this very login
	a.Logins, a.Services = slices.Sorted(maps.Keys(own)), &unconnected
	done, err := a.Run(ctx)
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
	for id, result := range done.Results {
		info, err := rules.Parse(dicts.Encode(result))
		if err != nil {
			return nil, fmt.Errorf("the result of the login handler %s: %w", loggers.Quote(id), err)
		}
		found[id] = info
	}
	return found, nil
}
