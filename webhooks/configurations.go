package webhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/reviews"
)

// configuration is the object in the cluster that registers the webhooks of one kind with
// the API server.
type configuration struct {
	name    string
	kind    abi.Kind // of handlers
	reason  string   // for messages
	object  string   // the kind of the object
	plural  string
	cluster Cluster
	log     zerolog.Logger
}

// Plurals of the configurations.
const (
	Validating = "validatingwebhookconfigurations"
	Mutating   = "mutatingwebhookconfigurations"
)

func configurationsFor(name string, cluster Cluster, log zerolog.Logger) []*configuration {
	return []*configuration{
		{name: name, kind: abi.KindValidate, reason: "validating", object: "ValidatingWebhookConfiguration", plural: Validating, cluster: cluster, log: log},
		{name: name, kind: abi.KindMutate, reason: "mutating", object: "MutatingWebhookConfiguration", plural: Mutating, cluster: cluster, log: log},
	}
}

// path is the path of the object, or of all objects of its kind without a name.
func (c *configuration) path(name string) (apipath.Path, error) {
	return apipath.Of(apipath.Target{Group: "admissionregistration.k8s.io", Version: "v1", Plural: c.plural, Name: name})
}

// create creates the object if it does not exist. It does not read first, because reading
// needs another right.
func (c *configuration) create(ctx context.Context) error {
	object := dicts.Object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": c.object, "metadata": dicts.Object{"name": c.name},
	}
	path, err := c.path("")
	if err != nil {
		return err
	}
	err = c.cluster.Create(ctx, path, dicts.Encode(object))
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("there are no rights to create %s: %w", c.plural, err)
	case err != nil:
		return fmt.Errorf("creating the %s %q: %w", c.object, c.name, err)
	}
	return nil
}

// content is what the configurations say.
type content struct {
	handlers   []reviews.Handler
	config     ClientConfig
	scoped     bool     // only the namespaces
	namespaces []string // none: there are no webhooks
}

// reconfigure writes the webhooks of all handlers.
func (c *configuration) reconfigure(ctx context.Context, with content) error {
	c.log.Info().Msg(fmt.Sprintf("Reconfiguring the %s webhook %s.", c.reason, c.name))
	return c.patch(ctx, with, false)
}

// clean keeps only persistent webhooks. The others would make requests fail, because the
// server has stopped.
func (c *configuration) clean(ctx context.Context, with content) error {
	c.log.Info().Msg(fmt.Sprintf("Cleaning up the admission webhook %s.", c.name))
	return c.patch(ctx, with, true)
}

func (c *configuration) patch(ctx context.Context, with content, persistent bool) error {
	list := []any{}
	for _, h := range with.handlers {
		if h.Spec.Kind != c.kind || persistent && !h.Spec.Persistent || with.scoped && len(with.namespaces) == 0 {
			continue
		}
		webhook, err := describeWebhook(h, c.name, with.config)
		if err != nil {
			return err
		}
		if with.scoped {
			limit(webhook, with.namespaces)
		}
		list = append(list, webhook)
	}
	path, err := c.path(c.name)
	if err != nil {
		return fmt.Errorf("setting \"admission.managed\": %w", err)
	}
	if err := c.cluster.Patch(ctx, path, dicts.Encode(dicts.Object{"webhooks": list})); err != nil {
		return fmt.Errorf("configuring the %s %q: %w", c.object, c.name, err)
	}
	return nil
}

// describeWebhook returns the webhook of one handler.
//
// Kopf: kopf._core.engines.admission.build_webhooks.
func describeWebhook(h reviews.Handler, suffix string, config ClientConfig) (dicts.Object, error) {
	selector, err := LabelSelector(h.Spec.Labels)
	if err != nil {
		return nil, fmt.Errorf("handler %q: labels: %w", h.ID, err)
	}
	rules := []any{}
	for _, r := range h.Resources {
		plural := r.Plural
		if h.Spec.Subresource != "" {
			plural += "/" + h.Spec.Subresource
		}
		rules = append(rules, dicts.Object{
			"apiGroups": []any{r.Group}, "apiVersions": []any{r.Version}, "resources": []any{plural},
			"operations": operationsOf(h.Spec), "scope": "*",
		})
	}
	webhook := dicts.Object{
		"name": Name(h.ID, suffix), "sideEffects": "None", "failurePolicy": "Fail", "matchPolicy": "Equivalent",
		"rules": rules, "objectSelector": nil, "clientConfig": config.at(h.ID).json(),
		"timeoutSeconds": 30, "admissionReviewVersions": []any{"v1", "v1beta1"},
	}
	if selector != nil {
		webhook["objectSelector"] = selector
	}
	if h.Spec.SideEffects {
		webhook["sideEffects"] = "NoneOnDryRun"
	}
	if h.Spec.IgnoreFailures {
		webhook["failurePolicy"] = "Ignore"
	}
	return webhook, nil
}

func operationsOf(spec abi.Handler) []any {
	if len(spec.Operations) == 0 {
		return []any{"*"}
	}
	return dicts.List(spec.Operations)
}

// json returns the config in the form of the Kubernetes API.
func (c ClientConfig) json() dicts.Object {
	object := dicts.Object{}
	if c.URL != nil {
		object["url"] = *c.URL
	}
	if c.CABundle != "" {
		object["caBundle"] = c.CABundle
	}
	if c.Service != nil {
		service := dicts.Object{"namespace": c.Service.Namespace, "name": c.Service.Name}
		if c.Service.Path != nil {
			service["path"] = *c.Service.Path
		}
		if c.Service.Port != 0 {
			service["port"] = c.Service.Port
		}
		object["service"] = service
	}
	return object
}

// managed keeps the configurations in step with the handlers and with the server.
type managed struct {
	configurations []*configuration
	conversions    conversions
	operator       Operator
	reach          *reach                                                      // nil: the whole cluster
	permit         func(ctx context.Context, handlers []reviews.Handler) error // nil: all handlers are permitted
	announced      *ClientConfig                                               // the latest client config; nil before the first one
	leader         Leader                                                      // of several replicas, whose configurations these are; nil: there are no others
	refused        bool                                                        // by permit
}

// permitted asks whether handlers are permitted.
func (m *managed) permitted(ctx context.Context, handlers []reviews.Handler) error {
	if m.permit == nil {
		return nil
	}
	err := m.permit(ctx, handlers)
	if ctx.Err() != nil {
		return nil // the operator ends
	}
	m.refused = err != nil
	return err
}

func (m *managed) create(ctx context.Context) error {
	for _, c := range m.configurations {
		if err := c.create(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reconfigure writes all configurations.
func (m *managed) reconfigure(ctx context.Context) error {
	with := m.content()
	if err := m.permitted(ctx, with.handlers); err != nil { // those that are written: more resources may appear meanwhile
		return err
	}
	for _, c := range m.configurations {
		if err := c.reconfigure(ctx, with); err != nil {
			return err
		}
	}
	if m.reach != nil {
		m.reach.wrote(with.namespaces, time.Now())
	}
	if len(m.configurations) == 0 {
		return nil
	}
	return m.conversions.reconfigure(ctx, with.handlers, *m.announced)
}

// content is what the configurations should say now.
func (m *managed) content() content {
	with := content{handlers: m.operator.Handlers(), config: *m.announced}
	if m.reach != nil {
		with.scoped, with.namespaces = true, m.reach.scope.names()
	}
	return with
}

// asked reports whether API servers may know the server from a configuration.
func (m *managed) asked() bool { return m.announced != nil && len(m.configurations) > 0 }

// clean removes the webhooks that are not persistent from all configurations, and all of them if they are not permitted any more.
func (m *managed) clean(ctx context.Context) error {
	if m.refused {
		return m.withdraw(ctx)
	}
	if m.announced == nil || m.leader != nil {
		return nil
	}
	with := m.content()
	var failures []error
	for _, c := range m.configurations {
		failures = append(failures, c.clean(ctx, with))
	}
	return errors.Join(failures...)
}

// withdraw removes all webhooks from the configurations that exist.
func (m *managed) withdraw(ctx context.Context) error {
	if m.leader != nil {
		if _, err := m.leader.HoldLead(); err != nil {
			return nil //nolint:nilerr // the leader does it
		}
	}
	var failures []error
	for _, c := range m.configurations {
		if err := c.clean(ctx, content{}); !apierrors.IsNotFound(err) {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}
