package operator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/loggers"
)

// sayUnread warns of modules without handlers, and of configuration that no module gets, because all of them declare the keys that they
// want: a mistyped key would have no effect.
func (op *Operator) sayUnread() {
	o := &op.options
	log := o.Log.With().Str(loggers.Field, "kopf.modules").Logger()
	var registrations []*abi.Registration
	for _, module := range op.living {
		registrations = append(registrations, module.Registration())
		if len(module.Registration().Handlers) == 0 {
			log.Warn().Msg(fmt.Sprintf("%s registers no handlers, so it does nothing.", module.Name()))
		}
	}
	given := slices.Concat(slices.Collect(maps.Keys(o.Host.Config)), slices.Collect(maps.Keys(o.Host.Secrets)))
	if keys, wanted := unread(given, registrations); len(keys) > 0 {
		log.Warn().Msg(fmt.Sprintf("No module reads the configuration of %s: what the modules want is %s.", strings.Join(keys, ", "), strings.Join(wanted, ", ")))
	}
}

// unread returns the given keys that no registration wants, and those that are wanted, sorted. A registration without keys gets all.
func unread(given []string, registrations []*abi.Registration) (keys, wanted []string) {
	for _, r := range registrations {
		if r.Capabilities == nil || len(r.Capabilities.Config) == 0 {
			return nil, nil
		}
		wanted = append(wanted, r.Capabilities.Config...)
	}
	if len(registrations) == 0 {
		return nil, nil
	}
	keys = slices.DeleteFunc(slices.Clone(given), func(key string) bool { return slices.Contains(wanted, key) })
	slices.Sort(keys)
	slices.Sort(wanted)
	return slices.Compact(keys), slices.Compact(wanted)
}
