package hosting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/places"
	"github.com/kopf-wasm/kopf/internal/panics"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// prepare makes the options of a declared operator, and fetches its module.
func (t *tenant) prepare(ctx context.Context, d *Declaration) (operator.Options, *Fetched, error) {
	o, err := t.host.optionsOf(d)
	if err != nil {
		return o, nil, &Refusal{Condition: api.Accepted, Reason: "InvalidSpec", Final: true, Err: err}
	}
	o.Log = t.log
	if selection, ok := o.Territory.(*places.Selection); ok {
		if err := selection.Wait(ctx); err != nil {
			return o, nil, &Refusal{Condition: api.Ready, Reason: "NamespacesUnknown", Err: fmt.Errorf("spec.scope: the host cannot list the namespaces: %w", err)}
		}
	}
	secrets, err := t.host.secrets(ctx, d, &o)
	if err != nil {
		return o, nil, err
	}
	fetched, err := t.host.fetch(ctx, d, secrets)
	if refusal := (*Refusal)(nil); err != nil && !errors.As(err, &refusal) {
		err = &Refusal{Condition: api.Resolved, Reason: "FetchFailed", Err: err}
	}
	return o, fetched, err
}

// fetch gets the module of a declaration. What a registry says is foreign: a defect of the host about it must not end other operators.
func (h *Host) fetch(ctx context.Context, d *Declaration, secrets []map[string][]byte) (fetched *Fetched, err error) {
	defer panics.Recover(&err)
	return h.options.Fetch(ctx, d, secrets)
}

// readers is how many declarations read their secrets at the same time. Each may name a hundred, and the host requests a token for
// each. Otherwise, the authors of many declarations could use up what the API server lets the host ask.
const readers = 8

// secrets adds configuration from secrets, and returns the credentials for the registry. The namespaces take turns.
func (h *Host) secrets(ctx context.Context, d *Declaration, o *operator.Options) (pull []map[string][]byte, err error) {
	if len(d.Spec.PullSecrets) == 0 && (d.Spec.Grants == nil || len(d.Spec.Grants.Secrets) == 0) {
		return nil, nil
	}
	owner := d.Account().Namespace
	turn, err := h.reading.Take(ctx, owner, 1)
	if err != nil {
		return nil, err
	}
	defer h.reading.Give(owner, turn)
	if err := readSecrets(ctx, h.options.Identities, d, o); err != nil {
		return nil, err
	}
	return readPullSecrets(ctx, h.options.Identities, d)
}

// CredentialsKey is the key of the credentials for registries in a secret of the type kubernetes.io/dockerconfigjson.
const CredentialsKey = ".dockerconfigjson"

// maxPullSecrets bounds the credentials of a declaration, in bytes: they are in memory while it waits for its turn to be fetched.
const maxPullSecrets = 256 << 10

// readPullSecrets reads the credentials for the registry, and nothing else of the secrets with them.
func readPullSecrets(ctx context.Context, from Identities, d *Declaration) (secrets []map[string][]byte, err error) {
	size := 0
	for _, name := range d.Spec.PullSecrets {
		secret, err := from.Secret(ctx, d.Account(), name)
		if err != nil {
			return nil, secretRefusal("spec.pullSecrets", err)
		}
		maps.DeleteFunc(secret, func(key string, _ []byte) bool { return key != CredentialsKey })
		if size += len(secret[CredentialsKey]); size > maxPullSecrets {
			return nil, &Refusal{Condition: api.Resolved, Reason: "PullSecretInvalid", Err: fmt.Errorf("spec.pullSecrets: the secrets have more than %d bytes of credentials", maxPullSecrets)}
		}
		secrets = append(secrets, secret)
	}
	return secrets, nil
}

// maxSecrets bounds the values of secrets that an operator is granted, in bytes. A value counts
// once, by however many keys it is granted.
const maxSecrets = 1 << 20

// readSecrets adds configuration from secrets.
func readSecrets(ctx context.Context, from Identities, d *Declaration, o *operator.Options) error {
	if d.Spec.Grants == nil || len(d.Spec.Grants.Secrets) == 0 {
		return nil
	}
	o.Host.Secrets = map[string]string{}
	bySecret := map[string][]string{} // the keys of the operator
	for key, ref := range d.Spec.Grants.Secrets {
		bySecret[ref.Name] = append(bySecret[ref.Name], key)
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(bySecret)) {
		keys := bySecret[name]
		slices.Sort(keys)
		secret, err := from.Secret(ctx, d.Account(), name)
		if err != nil {
			return secretRefusal(grantedSecret(keys[0]), err)
		}
		values := map[string]string{}
		for _, key := range keys {
			ref := d.Spec.Grants.Secrets[key]
			value, ok := secret[ref.Key]
			if !ok {
				return secretRefusal(grantedSecret(key), fmt.Errorf("the secret %s has no key %q", name, ref.Key))
			}
			if _, ok := values[ref.Key]; !ok {
				values[ref.Key] = string(value)
				size += len(value)
			}
			if size > maxSecrets {
				return &Refusal{Condition: api.Accepted, Reason: "InvalidSpec", Err: fmt.Errorf("%s: the secrets of an operator have more than %d bytes", grantedSecret(key), maxSecrets)}
			}
			o.Host.Secrets[key] = values[ref.Key]
		}
	}
	return nil
}

func grantedSecret(key string) string { return fmt.Sprintf("spec.grants.secrets[%s]", key) }

func secretRefusal(path string, err error) error {
	if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
		return err
	}
	return &Refusal{Condition: api.Granted, Reason: "SecretUnavailable", Err: fmt.Errorf("%s: %w", path, err)}
}

// optionsOf makes the options of an operator from its spec.
//
// Errors name the field.
func (h *Host) optionsOf(d *Declaration) (operator.Options, error) {
	o, err := h.placed(d)
	if err != nil {
		return o, err
	}
	o.Login = h.options.Identities.Login(d.Account())
	o.CheckGrant = checkHost
	o.Admission = h.admission(d, o.Namespaces, o.Territory)
	o.Host.Config, o.Host.Secrets = nil, nil
	err = h.allow(&o, d)
	return o, err
}

// placed makes options that have nothing of the spec but where the operator serves.
//
// Errors name the field.
func (h *Host) placed(d *Declaration) (operator.Options, error) {
	o := h.options.Base
	o.Name, o.NoLogins, o.GrantWanted = d.Key.String(), true, false
	o.Namespaces = []string{d.Key.Namespace}
	if d.Key.Kind == api.Cluster {
		o.Namespaces, o.Precedence = nil, 1 // no tenant keeps the objects of a namespace from administrators
		if d.Spec.Scope != nil {
			o.Namespaces = slices.Clone(d.Spec.Scope.Namespaces)
		}
	}
	err := h.place(d, &o)
	return o, err
}

// allow takes over the limits, the settings and the grants of a declaration.
//
// Errors name the field.
func (h *Host) allow(o *operator.Options, d *Declaration) error {
	return errors.Join(h.limit(o, d.Spec.Limits), h.set(o, d.Spec.Settings), h.grant(o, d.Spec.Grants))
}

// Check checks the limits, the settings and the grants of a declaration, as a host with these options does before it fetches the
// module.
//
// Errors name the field.
func Check(o Options, d *Declaration) error {
	h := New(o)
	made := h.options.Base
	errs := []error{h.allow(&made, d)}
	if d.Spec.Grants != nil {
		for i, text := range d.Spec.Grants.Hosts {
			host, err := operator.ParseHost(text)
			if err != nil {
				continue // allow has said so
			}
			if err := checkHost(host); err != nil {
				errs = append(errs, fmt.Errorf("spec.grants.hosts[%d]: %w", i, err))
			}
		}
	}
	return errors.Join(errs...)
}

// place lets an operator serve the namespaces with the labels of the scope, or with names that
// match its patterns.
func (h *Host) place(d *Declaration, o *operator.Options) error {
	patterns := selectors.ParseNamespaces(o.Namespaces)
	selector, field := labels.Everything(), "spec.scope.namespaces"
	switch {
	case d.Key.Kind == api.Cluster && d.Spec.Scope != nil && d.Spec.Scope.NamespaceSelector != nil:
		var err error
		field = "spec.scope.namespaceSelector"
		if selector, err = metav1.LabelSelectorAsSelector(d.Spec.Scope.NamespaceSelector); err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
	case len(patterns.Exact()) == len(slices.Compact(slices.Sorted(slices.Values(o.Namespaces)))):
		return nil
	}
	if h.options.Places == nil {
		return fmt.Errorf("%s: this host does not watch namespaces: name them", field)
	}
	if len(o.Namespaces) == 0 {
		o.Namespaces = []string{"*"}
		patterns = selectors.ParseNamespaces(o.Namespaces)
	}
	o.Territory = h.options.Places.Select(func(name string, set map[string]string) bool {
		return patterns.Match(name) && selector.Matches(labels.Set(set))
	})
	return nil
}

// limit sets the limits, up to those of the host.
func (h *Host) limit(o *operator.Options, limits map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		if err := o.SetLimit(name, limits[name]); err != nil {
			return fmt.Errorf("spec.limits: %w", err)
		}
	}
	if err := o.CheckMaxima(&h.options.Base); err != nil {
		return fmt.Errorf("spec.limits: %w", err)
	}
	return nil
}

// set sets the settings. Those of the class grant need the permission of the host. Those that
// can cost other operators something have the settings of the host as their maxima.
func (h *Host) set(o *operator.Options, values map[string]json.RawMessage) error {
	maxima := h.options.Base.Settings
	o.Settings = maxima.Clone()
	o.Settings.Peering.Standalone = true // a host runs one operator for each declaration
	if _, err := o.Settings.SetByGuest(values, h.options.GrantedSettings); err != nil {
		return fmt.Errorf("spec.settings: %w", err)
	}
	for name := range values {
		if strings.HasPrefix(name, "admission.") {
			return fmt.Errorf("spec.settings: %.100q: the host has one server for all operators: remove the setting", name)
		}
	}
	if err := o.Settings.CheckMaxima(maxima); err != nil {
		return fmt.Errorf("spec.settings: %w", err)
	}
	o.Settings.Cap(maxima) // for startup handlers
	return nil
}

// grant grants what the spec says.
func (h *Host) grant(o *operator.Options, g *api.Grants) error {
	o.Calls.Grants, o.Calls.Confined = operator.Grants{}, true // authors have no say about the networks of the host
	if g == nil {
		return nil
	}
	o.GrantWanted, o.Host.Config = g.Wanted, maps.Clone(g.Config)
	for i, text := range g.Kubernetes {
		rule, err := operator.ParseRule(text)
		if err != nil {
			return fmt.Errorf("spec.grants.kubernetes[%d]: %w", i, err)
		}
		o.Calls.Grants.Kubernetes = append(o.Calls.Grants.Kubernetes, rule)
	}
	for i, text := range g.Hosts {
		host, err := operator.ParseHost(text)
		if err != nil {
			return fmt.Errorf("spec.grants.hosts[%d]: %w", i, err)
		}
		o.Calls.Grants.Hosts = append(o.Calls.Grants.Hosts, host)
	}
	for i, name := range g.Settings {
		if !slices.Contains(h.options.GrantedSettings, name) {
			return fmt.Errorf("spec.grants.settings[%d]: %.100q: this host lets no operator change this setting: see --allow-setting of kopf serve", i, name)
		}
	}
	o.GrantedSettings = slices.Clone(g.Settings)
	return nil
}

// checkHost refuses servers that only the machine of the host can reach: localhost and
// addresses. For a name, package operator checks the address of each connection.
func checkHost(host operator.Host) error {
	name := strings.TrimSuffix(host.Name, ".")
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return &Refusal{Condition: api.Granted, Reason: "HostOfMachine", Final: true, Err: fmt.Errorf("the server %q: hosted operators reach servers by name, and not those of the host's own machine", host.String())}
	}
	return nil
}
