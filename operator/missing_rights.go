package operator

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/kopf-wasm/kopf/operator/deployment"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/discovery"
	"github.com/kopf-wasm/kopf/reactor/loggers"
)

// named is the name of an operator and of its webhook configurations in questions about rights,
// where names do not matter.
const named = "operator"

// logMissingRights logs all rights that the account of the operator lacks, in one line. Without it, a
// user would learn of them one after another, from requests that fail.
func (op *Operator) logMissingRights(ctx context.Context, client *clients.Client) {
	o := &op.options
	needs := &deployment.Operator{
		Name: named, Namespace: deployment.Home(o.Namespaces), Namespaces: o.Namespaces, Wanted: true,
		Peering: o.Peering.Name, Admission: cmp.Or(o.Admission.Managed, named+".example.com"),
	}
	for _, module := range op.Modules() {
		needs.Registrations = append(needs.Registrations, module.Registration())
	}
	for _, guest := range o.Guests {
		needs.Registrations = append(needs.Registrations, guest.Registration())
	}
	log := o.Log.With().Str(loggers.Field, "kopf.reactor").Logger()
	var err error
	if needs.Resources, err = discovery.Scan(ctx, client.Discover); err == nil || needs.Resources != nil {
		var missing []string
		if missing, err = needs.Missing(ctx, client.Ask); len(missing) > 0 {
			log.Error().Msg(fmt.Sprintf("The account of the operator lacks rights: %s. kopf manifest prints roles with them.", strings.Join(missing, "; ")))
		}
	}
	if err != nil {
		log.Debug().Err(err).Msg("Which rights are missing is unknown.")
	}
}

// onRefusal returns what happens when the API server refuses a request for the first time. The rights of
// hosted operators are their host's matter.
func (op *Operator) onRefusal() func(context.Context, *clients.Client) {
	if op.options.NoLogins {
		return nil
	}
	return op.logMissingRights
}
