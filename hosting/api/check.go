package api

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reference matches the references of artifacts. The schema of the
// CustomResourceDefinition has the same pattern: no file and no other URL matches it. It is
// compiled at the first use: each start of the program would pay 140 KB for it.
var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(ReferencePattern) })

// ReferencePattern is the regular expression of references: a registry with an optional
// port, a repository, and a tag or a digest.
const ReferencePattern = `^(oci://)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}(@sha256:[0-9a-f]{64})?|@sha256:[0-9a-f]{64})$`

// IsReference reports whether a module is named by a reference of an artifact.
func IsReference(module string) bool {
	return len(module) <= maxModule && reference().MatchString(module)
}

// IsArtifact reports whether the module of a manifest in a folder is an artifact, and not a file.
func (s *Spec) IsArtifact() bool { return strings.HasPrefix(s.Module, "oci://") }

// maxModule bounds the name of a module, in bytes.
const maxModule = 1024

func (s *Spec) check(files bool) error {
	var errs []error
	switch {
	case s.Module == "":
		errs = append(errs, errors.New("spec.module: the field is missing: want a reference like oci://ghcr.io/me/operator:v1"))
	case !files && !IsReference(s.Module):
		errs = append(errs, fmt.Errorf("spec.module: %.200q: want a reference of an artifact with a tag or a digest, like oci://ghcr.io/me/operator:v1", s.Module))
	}
	errs = append(errs, subdomain("spec.serviceAccountName", s.ServiceAccountName))
	for i, name := range s.PullSecrets {
		errs = append(errs, subdomain(fmt.Sprintf("spec.pullSecrets[%d]", i), name))
	}
	if s.Verification != nil && len(s.Verification.Keys) == 0 { // a mistyped field must not mean that nothing is verified
		errs = append(errs, errors.New("spec.verification: there are no keys: name some, or remove the field"))
	}
	return errors.Join(append(errs, s.Scope.check(), s.OnRemoval.check(), s.Grants.check())...)
}

func (s *Scope) check() error {
	if s == nil {
		return nil
	}
	var errs []error
	if len(s.Namespaces) == 0 && s.NamespaceSelector == nil { // a mistyped field must not mean the whole cluster
		errs = append(errs, errors.New("spec.scope: it selects no namespaces: name some, or remove the field"))
	}
	for i, pattern := range s.Namespaces {
		if pattern == "" {
			errs = append(errs, fmt.Errorf("spec.scope.namespaces[%d]: the name is empty", i))
		}
	}
	if selector := s.NamespaceSelector; selector != nil {
		if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
			errs = append(errs, errors.New("spec.scope.namespaceSelector: it has neither matchLabels nor matchExpressions: name some, or remove the field"))
		}
		if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
			errs = append(errs, fmt.Errorf("spec.scope.namespaceSelector: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (r *OnRemoval) check() error {
	if r == nil {
		return nil
	}
	switch r.Finalizers {
	case "", Keep, Release, ReleaseAfter:
	default:
		return fmt.Errorf("spec.onRemoval.finalizers: %.100q: want %s, %s or %s", r.Finalizers, Keep, Release, ReleaseAfter)
	}
	if r.ReleaseAfter == "" {
		return nil
	}
	if r.Finalizers != ReleaseAfter {
		return fmt.Errorf("spec.onRemoval.releaseAfter: the time is for finalizers: %s only: set it, or remove the field", ReleaseAfter)
	}
	if limit, err := time.ParseDuration(r.ReleaseAfter); err != nil || limit <= 0 || limit > MaxReleaseAfter {
		return fmt.Errorf("spec.onRemoval.releaseAfter: %.100q: want a time above 0 and up to %v, like 5m", r.ReleaseAfter, MaxReleaseAfter)
	}
	return nil
}

func (g *Grants) check() error {
	if g == nil {
		return nil
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(g.Secrets)) {
		secret, path := g.Secrets[key], fmt.Sprintf("spec.grants.secrets[%s]", key)
		if _, twice := g.Config[key]; twice {
			errs = append(errs, fmt.Errorf("%s: the key is also in spec.grants.config: remove one of them", path))
		}
		if secret.Key == "" {
			errs = append(errs, fmt.Errorf("%s.key: the field is missing", path))
		}
		errs = append(errs, subdomain(path+".name", secret.Name))
	}
	return errors.Join(errs...)
}
