package admission

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// webhook is one webhook of a configuration.
type webhook struct {
	Name           string                `json:"name"`
	Rules          []rule                `json:"rules"`
	ObjectSelector *metav1.LabelSelector `json:"objectSelector"`
	FailurePolicy  string                `json:"failurePolicy"`
	MatchPolicy    string                `json:"matchPolicy"`
	TimeoutSeconds int                   `json:"timeoutSeconds"`
	ClientConfig   struct {
		URL string `json:"url"`
	} `json:"clientConfig"`

	selector labels.Selector
}

// rule selects requests.
type rule struct {
	Groups     []string `json:"apiGroups"`
	Versions   []string `json:"apiVersions"`
	Resources  []string `json:"resources"` // PLURAL or PLURAL/SUBRESOURCE
	Operations []string `json:"operations"`
}

func (w *webhook) prepare() error {
	w.selector = labels.Everything()
	if w.ObjectSelector == nil {
		return nil
	}
	var err error
	if w.selector, err = metav1.LabelSelectorAsSelector(w.ObjectSelector); err != nil {
		return fmt.Errorf("the webhook %q: objectSelector: %w", w.Name, err)
	}
	return nil
}

// url is the address of reviews. It says how long the API server waits.
func (w *webhook) url() string {
	if w.TimeoutSeconds == 0 {
		return w.ClientConfig.URL
	}
	return fmt.Sprintf("%s?timeout=%ds", w.ClientConfig.URL, w.TimeoutSeconds)
}

// matches reports whether a webhook is asked about a request, and in which version of the resource.
func (w *webhook) matches(r *Request) (version string, ok bool) {
	for _, rule := range w.Rules {
		if version, ok = rule.matches(r, w.MatchPolicy != "Exact"); ok {
			return version, w.selects(r.New) || w.selects(r.Old)
		}
	}
	return "", false
}

// selects reports whether an object has the labels that the webhook is for.
func (w *webhook) selects(object dicts.Object) bool {
	if object == nil {
		return false
	}
	set := labels.Set{}
	for name, value := range dicts.LookupObject(object, "metadata", "labels") {
		set[name], _ = value.(string)
	}
	return w.selector.Matches(set)
}

// matches reports whether the rule selects a request. A rule for another version of the resource
// selects it, too, if versions count as equivalent.
func (rule *rule) matches(r *Request, equivalent bool) (version string, ok bool) {
	if !has(rule.Operations, r.Operation) || !has(rule.Groups, r.Resource.Group) || !slices.ContainsFunc(rule.Resources, r.is) {
		return "", false
	}
	switch {
	case has(rule.Versions, r.Resource.Version):
		return r.Resource.Version, true
	case equivalent && len(rule.Versions) > 0:
		return rule.Versions[0], true
	}
	return "", false
}

// has reports whether a list has a word, or * for all of them.
func has(list []string, word string) bool {
	return slices.Contains(list, word) || slices.Contains(list, "*")
}

// is reports whether the request is for a resource of a rule: PLURAL or PLURAL/SUBRESOURCE.
func (r *Request) is(resource string) bool {
	plural, subresource, _ := strings.Cut(resource, "/")
	return (plural == "*" || plural == r.Resource.Plural) && (subresource == "*" || subresource == r.Subresource)
}
