package signatures

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/internal/legible"
)

// keys returns the keys that the configuration names.
func (c *Config) keys() []*PublicKey {
	var keys []*PublicKey
	for _, r := range c.requirements() {
		if r.key != nil {
			keys = append(keys, r.key)
		}
	}
	return keys
}

func (c *Config) requirements() []*Requirement {
	var all []*Requirement
	for i := range c.AllOf {
		all = append(all, &c.AllOf[i])
	}
	if c.AnyOf != nil {
		for i := range c.AnyOf.Signatures {
			all = append(all, &c.AnyOf.Signatures[i])
		}
	}
	return all
}

// judge returns an error if the signers do not fulfil the configuration.
//
// Errors: ErrUnverified, with the missing signatures.
func (c *Config) judge(signers []*Signer) error {
	var missing []string
	for i := range c.AllOf {
		r := &c.AllOf[i]
		if !slices.ContainsFunc(signers, r.matches) {
			missing = append(missing, r.missing())
		}
	}
	if a := c.AnyOf; a != nil {
		if found := a.signers(signers); found < a.minimum() {
			var of []string
			for i := range a.Signatures {
				of = append(of, a.Signatures[i].missing())
			}
			missing = append(missing, fmt.Sprintf("%d of %d signers among: %s", a.minimum()-found, a.minimum(), strings.Join(of, ", ")))
		}
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("%w: no signature by %s", ErrUnverified, strings.Join(missing, "; nor by "))
}

// missing describes a requirement with its annotations.
func (r *Requirement) missing() string {
	text := r.String()
	var pairs []string
	for key, value := range r.Annotations {
		pairs = append(pairs, key+"="+value)
	}
	if pairs != nil {
		slices.Sort(pairs)
		text += " with " + strings.Join(pairs, ",")
	}
	return text
}

// matches reports whether a signer fulfils the requirement.
func (r *Requirement) matches(s *Signer) bool {
	for key, value := range r.Annotations {
		if got, ok := s.Annotations[key]; !ok || got != value {
			return false
		}
	}
	switch {
	case r.Kind == kindKey:
		return s.Identity == identityOf(r.key)
	case s.issued == nil:
		return false
	case r.Kind == kindGitHub:
		return s.issued.byGitHub(r.Owner, r.Repo)
	}
	return s.issued.to(r.Issuer, r.Subject)
}

// signers counts the different signers that fulfil one entry each: the largest matching of
// entries and identities.
func (a *AnyOf) signers(signers []*Signer) int {
	taken := map[string]int{} // maps identities to the entries that they fulfil
	var place func(entry int, tried map[string]bool) bool
	place = func(entry int, tried map[string]bool) bool {
		for _, s := range signers {
			if tried[s.Identity] || !a.Signatures[entry].matches(s) {
				continue
			}
			tried[s.Identity] = true
			if other, ok := taken[s.Identity]; !ok || place(other, tried) {
				taken[s.Identity] = entry
				return true
			}
		}
		return false
	}
	count := 0
	for entry := range a.Signatures {
		if place(entry, map[string]bool{}) {
			count++
		}
	}
	return count
}

// Verify returns the signers of a digest, if they fulfil the configuration. It verifies
// certificates only if they matter.
//
// Errors: ErrUnverified, with the missing signatures and the fault of each signature; others
// if certificates cannot be verified.
func (c *Config) Verify(ctx context.Context, digest string, found []Signature, by CertificateVerifier) ([]*Signer, error) {
	switch {
	case len(c.requirements()) == 0:
		return nil, fmt.Errorf("%w: the configuration requires no signature", ErrUnverified)
	case len(found) == 0:
		return nil, fmt.Errorf("%w: it has no signatures", ErrUnverified)
	}
	signers, problems := c.byKeys(ctx, digest, found)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := c.judge(signers); err == nil || !c.wantsCertificates() {
		return signers, explained(err, problems)
	}
	certified, more, err := byCertificates(ctx, by, digest, slices.DeleteFunc(slices.Clone(found), func(s Signature) bool { return !s.byCertificate() }))
	if err != nil {
		return nil, err
	}
	signers = append(signers, certified...)
	return signers, explained(c.judge(signers), append(problems, more...))
}

// explained adds the faults of single signatures.
func explained(err error, problems []string) error {
	if err == nil || problems == nil {
		return err
	}
	return fmt.Errorf("%w (%s)", err, strings.Join(problems, "; "))
}

// byKeys returns the keys that have signed, and the faults of the other signatures. It ends early with the context.
func (c *Config) byKeys(ctx context.Context, digest string, found []Signature) (signers []*Signer, problems []string) {
	keys, certificates := c.keys(), c.wantsCertificates()
	for i := range found {
		if ctx.Err() != nil {
			break
		}
		s, err := found[i].check(digest, keys)
		switch {
		case errors.Is(err, errOtherKey), certificates && errors.Is(err, errByCertificate):
		case err != nil:
			problems = append(problems, found[i].Where+": "+legible.Short(err.Error(), maxFault))
		default:
			signers = append(signers, s)
		}
	}
	return signers, problems
}

// wantsCertificates reports whether the configuration requires a signer without a key.
func (c *Config) wantsCertificates() bool {
	return slices.ContainsFunc(c.requirements(), func(r *Requirement) bool { return r.Kind != kindKey })
}
