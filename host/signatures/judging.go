package signatures

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Keys are the keys that the configuration names.
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

// judge tells whether signers are those that are demanded.
//
// Errors: ErrUnverified, with what is missing.
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

// missing names a requirement with its annotations.
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

// matches tells whether a signer is the one that is demanded.
func (r *Requirement) matches(s *Signer) bool {
	for key, value := range r.Annotations {
		if got, ok := s.Annotations[key]; !ok || got != value {
			return false
		}
	}
	return r.Kind == kindKey && s.Identity == identityOf(r.key)
}

// signers counts how many different signers fulfil an entry each: the largest
// matching of entries and identities.
func (a *AnyOf) signers(signers []*Signer) int {
	taken := map[string]int{} // identities to the entries that they stand for
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

// Verify tells who has signed a digest, if that is enough for the configuration.
//
// Errors: ErrUnverified, with what is missing and what is wrong with each signature.
func (c *Config) Verify(digest string, found []Signature) ([]*Signer, error) {
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: it has no signatures", ErrUnverified)
	}
	keys := c.keys()
	var signers []*Signer
	var problems []string
	for i := range found {
		s, err := found[i].check(digest, keys)
		switch {
		case errors.Is(err, errOtherKey):
		case err != nil:
			problems = append(problems, found[i].Where+": "+err.Error())
		default:
			signers = append(signers, s)
		}
	}
	if err := c.judge(signers); err != nil {
		if problems != nil {
			err = fmt.Errorf("%w (%s)", err, strings.Join(problems, "; "))
		}
		return nil, err
	}
	return signers, nil
}
