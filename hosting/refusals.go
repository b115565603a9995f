package hosting

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/operator"
)

// Refusal is an error with the condition that it sets to False, or to True for a condition
// that is a problem.
type Refusal struct {
	Condition api.ConditionType
	Reason    string // one word, in the form of Kubernetes: ServiceAccountMissing
	Final     bool   // another attempt makes no difference until the declaration changes
	Err       error
}

// Error returns the text of the wrapped error.
func (r *Refusal) Error() string { return r.Err.Error() }

func (r *Refusal) Unwrap() error { return r.Err }

// classify finds the condition of an error, and its reason.
func classify(err error) *Refusal {
	var refusal *Refusal
	var missing *operator.MissingGrantsError
	own := (*crash)(nil)
	scarce := (*operator.BudgetError)(nil)
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.As(err, &missing):
		return &Refusal{Condition: api.Granted, Reason: "MissingGrants", Final: true, Err: errors.New(adviceOn(missing))}
	case errors.Is(err, operator.ErrLogins):
		return &Refusal{Condition: api.Granted, Reason: "LoginHandlers", Final: true, Err: err}
	case errors.Is(err, operator.ErrOverlap):
		return &Refusal{Condition: api.Overlapping, Reason: "SameObjects", Err: err}
	case errors.Is(err, operator.ErrExitTimeout):
		return &Refusal{Condition: api.Quarantined, Reason: "Stuck", Final: true, Err: fmt.Errorf("a part of the operator does not end; restart the host to run it again: %w", err)}
	case errors.As(err, &scarce):
		return &Refusal{Condition: api.Degraded, Reason: "NoMemory", Err: err}
	case errors.As(err, &own):
		return &Refusal{Condition: api.Degraded, Reason: "Ended", Err: err}
	case errors.Is(err, host.ErrModule):
		return &Refusal{Condition: api.Degraded, Reason: "ModuleRefused", Final: true, Err: err}
	}
	return &Refusal{Condition: api.Degraded, Reason: "LoadFailed", Err: err}
}

// adviceOn says which fields grant what a module lacks.
func adviceOn(e *operator.MissingGrantsError) string {
	var fields []string
	for _, rule := range e.Missing.Kubernetes {
		fields = append(fields, fmt.Sprintf("spec.grants.kubernetes: %q", rule.String()))
	}
	for _, host := range e.Missing.Hosts {
		fields = append(fields, fmt.Sprintf("spec.grants.hosts: %q", host.String()))
	}
	return fmt.Sprintf("%s wants more than it is granted; set spec.grants.wanted, or add %s", e.Module, strings.Join(fields, ", "))
}
