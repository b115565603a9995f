package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strings"
	"time"
)

// bundle is a certificate with all authorities that clients have to trust, newest first. It
// is immutable: a rotation creates a new bundle.
type bundle struct {
	authorities []*authority
	leaf        *tls.Certificate
}

// pair returns the part of the bundle that a server needs.
func (b *bundle) pair() *Pair {
	var certs []*x509.Certificate
	for _, a := range b.authorities {
		certs = append(certs, a.cert)
	}
	return &Pair{b.leaf, pemOf(certs...)}
}

// signer is the index of the authority that signed the certificate, or -1.
func (b *bundle) signer() int {
	return slices.IndexFunc(b.authorities, func(a *authority) bool {
		return b.leaf != nil && b.leaf.Leaf.CheckSignatureFrom(a.cert) == nil
	})
}

// Schedule determines when authorities and certificates are renewed.
type Schedule struct {
	Authority time.Duration // lifetime of an authority
	Leaf      time.Duration // lifetime of a certificate
	Overlap   time.Duration // from the announcement of an authority to its first use, and from its last use to its removal
	Check     time.Duration // interval between two checks
}

// DefaultSchedule is that of operators.
var DefaultSchedule = Schedule{Authority: 365 * 24 * time.Hour, Leaf: 90 * 24 * time.Hour, Overlap: time.Hour, Check: time.Minute}

// next returns the bundle for a point in time: the present one while it is still good. It
// takes one step at a time. Clients therefore trust an authority before any server uses it,
// and as long as any server may still use it:
//
//  1. when two thirds of an authority's lifetime are over, a new one is added;
//  2. after the overlap, it signs a new certificate;
//  3. after one more overlap, the old authority is removed.
func (s Schedule) next(b *bundle, names []string, now time.Time) (*bundle, error) {
	if b == nil {
		b = &bundle{}
	}
	next := &bundle{leaf: b.leaf}
	for _, a := range b.authorities {
		if now.Before(a.cert.NotAfter) {
			next.authorities = append(next.authorities, a)
		}
	}
	if len(next.authorities) == 0 || s.aged(next.authorities[0].cert, s.Authority, now) {
		fresh, err := newAuthority(now, s.Authority)
		if err != nil {
			return nil, err
		}
		next.authorities = slices.Insert(next.authorities, 0, fresh)
	}
	if err := s.renewLeaf(next, names, now); err != nil {
		return nil, err
	}
	if i := next.signer(); i >= 0 && s.settled(next.leaf.Leaf, now) {
		next.authorities = next.authorities[:i+1]
	}
	if next.leaf == b.leaf && slices.Equal(next.authorities, b.authorities) {
		return b, nil
	}
	return next, nil
}

// renewLeaf signs a new certificate if the names have changed, if the certificate is old, or
// if a newer authority is known to all clients.
func (s Schedule) renewLeaf(b *bundle, names []string, now time.Time) error {
	best := s.signing(b.authorities, now)
	if b.leaf != nil {
		known := append(slices.Clone(b.leaf.Leaf.DNSNames), addressesOf(b.leaf.Leaf)...)
		signer := b.signer()
		if covers(known, names) && !s.aged(b.leaf.Leaf, s.Leaf, now) && signer >= 0 && signer <= best {
			return nil
		}
		if len(strings.Join(known, "")) <= maxNames {
			names = append(slices.Clone(names), known...) // other replicas may need other names
		}
	}
	leaf, err := b.authorities[best].issue(names, now, s.Leaf)
	if err != nil {
		return err
	}
	b.leaf = leaf
	return nil
}

// maxNames bounds the names of earlier certificates that a new one has, in bytes. Beyond it, replicas that still need theirs add them
// again: with the names of all former pods, a secret would get too large to be accepted as ours.
const maxNames = maxSecretPart / 4

// signing is the newest authority that all clients know by now.
func (s Schedule) signing(authorities []*authority, now time.Time) int {
	for i, a := range authorities {
		if s.settled(a.cert, now) {
			return i
		}
	}
	return len(authorities) - 1
}

// settled reports whether the overlap since the creation of a certificate is over.
func (s Schedule) settled(cert *x509.Certificate, now time.Time) bool {
	return !now.Before(cert.NotBefore.Add(backdating + s.Overlap))
}

// aged reports whether a certificate is in the last third of its life.
func (s Schedule) aged(cert *x509.Certificate, lifetime time.Duration, now time.Time) bool {
	return now.After(cert.NotAfter.Add(-lifetime / 3))
}

func addressesOf(cert *x509.Certificate) []string {
	var list []string
	for _, ip := range cert.IPAddresses {
		list = append(list, ip.String())
	}
	return list
}

// covers reports whether the certificate has all names that a certificate can have.
func covers(known, names []string) bool {
	dnsNames, addresses := splitNames(names)
	for _, ip := range addresses {
		dnsNames = append(dnsNames, ip.String())
	}
	return !slices.ContainsFunc(dnsNames, func(name string) bool { return !slices.Contains(known, name) })
}
