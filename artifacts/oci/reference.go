package oci

import (
	"fmt"
	"strings"
	"unicode"

	"oras.land/oras-go/v2/registry"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
)

// Scheme is the prefix of references where a name can also mean a file.
const Scheme = "oci://"

// Reference names an artifact in a registry by tag, by digest, or by both. The digest takes
// precedence.
type Reference struct {
	Registry   string // host, with an optional port
	Repository string
	Tag        string
	Digest     string // "sha256:" and 64 hexadecimal digits
}

// IsReference reports whether a name is a reference, and not a file.
func IsReference(name string) bool { return strings.HasPrefix(name, Scheme) }

// Parse parses a reference, with or without the scheme: oci://ghcr.io/me/operator:v1,
// localhost:5000/operator@sha256:…. There is no default tag.
func Parse(text string) (Reference, error) {
	bare := strings.TrimPrefix(text, Scheme)
	refuse := func(why string) (Reference, error) {
		return Reference{}, fmt.Errorf("%s: %s, like oci://ghcr.io/me/operator:v1", text, why)
	}
	parsed, err := registry.ParseReference(bare)
	switch {
	case strings.Contains(bare, "://"):
		return refuse("no reference of an artifact")
	case err != nil:
		return Reference{}, fmt.Errorf("%s: %w: want a name in lower case with a tag or a digest, like oci://ghcr.io/me/operator:v1", text, err)
	case strings.ContainsFunc(parsed.Registry, func(c rune) bool { return c > unicode.MaxASCII }):
		return refuse("the registry has letters that are not ASCII: write them in Punycode (xn--…)")
	case parsed.Reference == "":
		return refuse("name a tag or a digest")
	}
	r := Reference{Registry: parsed.Registry, Repository: parsed.Repository}
	path, sum, byDigest := strings.Cut(bare, "@")
	if _, tag, ok := strings.Cut(path[strings.Index(path, "/"):], ":"); ok {
		r.Tag = tag
	}
	if byDigest {
		r.Digest = sum
	}
	return r, r.check()
}

func (r Reference) check() error {
	if r.Digest != "" && !layout.ValidDigest(r.Digest) {
		return fmt.Errorf("%s: want a digest of sha256", r)
	}
	if r.Tag != "" {
		if err := (registry.Reference{Registry: r.Registry, Repository: r.Repository, Reference: r.Tag}).ValidateReferenceAsTag(); err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
	}
	return nil
}

// String returns the reference with the scheme.
func (r Reference) String() string { return Scheme + r.Name() }

// Name returns the reference without the scheme, in the form of other tools.
func (r Reference) Name() string {
	text := r.Registry + "/" + r.Repository
	if r.Tag != "" {
		text += ":" + r.Tag
	}
	if r.Digest != "" {
		text += "@" + r.Digest
	}
	return text
}

// shortDigest is the length of a digest in messages about progress: sha256: and 12 digits.
const shortDigest = len("sha256:") + 12

// short is the name for messages about progress: with the tag, or else with the beginning of the digest.
func (r Reference) short() string {
	if r.Tag == "" && len(r.Digest) > shortDigest {
		r.Digest = r.Digest[:shortDigest]
	}
	if r.Tag != "" {
		r.Digest = ""
	}
	return r.Name()
}

// At returns a reference to a digest of the same repository, without the tag.
func (r Reference) At(digest string) Reference {
	return Reference{Registry: r.Registry, Repository: r.Repository, Digest: digest}
}

// Tagged returns a reference to a tag of the same repository.
func (r Reference) Tagged(tag string) Reference {
	return Reference{Registry: r.Registry, Repository: r.Repository, Tag: tag}
}

// wanted is the digest or the tag to request from a registry.
func (r Reference) wanted() string {
	if r.Digest != "" {
		return r.Digest
	}
	return r.Tag
}
