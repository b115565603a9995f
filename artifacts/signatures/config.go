package signatures

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedyaml"
)

// Config says which signatures an artifact needs. It is the content of verification.yml in
// the format of Kubewarden.
//
// See https://docs.kubewarden.io/reference/verification-config
type Config struct {
	APIVersion string        `yaml:"apiVersion"`
	AllOf      []Requirement `yaml:"allOf"`
	AnyOf      *AnyOf        `yaml:"anyOf"`
}

// AnyOf requires some of several requirements. It counts signers, not entries: one signer
// that fulfils two entries counts once.
type AnyOf struct {
	MinimumMatches *int          `yaml:"minimumMatches"` // 1 by default
	Signatures     []Requirement `yaml:"signatures"`
}

// Requirement requires a signature by a signer, with some annotations.
type Requirement struct {
	Kind        string            `yaml:"kind"`  // pubKey, genericIssuer, githubAction
	Owner       string            `yaml:"owner"` // pubKey: for people; githubAction: the user or organization
	Key         string            `yaml:"key"`   // pubKey: PEM
	Issuer      string            `yaml:"issuer"`
	Subject     *Subject          `yaml:"subject"`
	Repo        string            `yaml:"repo"` // githubAction; empty: any repository of the owner
	Annotations map[string]string `yaml:"annotations"`

	key *PublicKey
}

// Subject is the subject of a certificate.
type Subject struct {
	Equal     string `yaml:"equal"`
	URLPrefix string `yaml:"urlPrefix"` // always ends with a slash
}

// maxConfig bounds a configuration, in bytes.
const maxConfig = 1 << 20

// ReadConfig reads a configuration file.
func ReadConfig(path string) (*Config, error) {
	data, err := boundedfile.Read(path, maxConfig)
	if err != nil {
		return nil, err
	}
	c, err := ParseConfig(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// ParseConfig parses a configuration. It refuses unknown keys and keys of other kinds,
// because ignoring them would weaken the requirements.
//
// Errors: bounded.ErrTooMuch, and others.
func ParseConfig(data []byte) (*Config, error) {
	c := &Config{}
	if err := boundedyaml.Decode(data, c); err != nil {
		return nil, err
	}
	if c.APIVersion != "v1" {
		return nil, fmt.Errorf("apiVersion %q: want v1", c.APIVersion)
	}
	if len(c.AllOf) == 0 && c.AnyOf == nil {
		return nil, errors.New("neither allOf nor anyOf requires a signature")
	}
	for i := range c.AllOf {
		if err := c.AllOf[i].complete(); err != nil {
			return nil, fmt.Errorf("allOf, entry %d: %w", i+1, err)
		}
	}
	return c, c.AnyOf.complete()
}

// Require adds a required signature.
func (c *Config) Require(r Requirement) { c.AllOf = append(c.AllOf, r) }

// ByIssuer requires a certificate that an issuer has issued for the subject.
func ByIssuer(issuer, subject string, annotations map[string]string) Requirement {
	return Requirement{Kind: kindIssuer, Issuer: issuer, Subject: &Subject{Equal: subject}, Annotations: annotations}
}

// ByGitHub requires a certificate of a GitHub Actions workflow. An empty repo means any
// repository of the owner.
func ByGitHub(owner, repo string, annotations map[string]string) Requirement {
	return Requirement{Kind: kindGitHub, Owner: owner, Repo: repo, Annotations: annotations}
}

// ByKeys requires a signature by each of the keys.
func ByKeys(keys []*PublicKey, annotations map[string]string) *Config {
	c := &Config{APIVersion: "v1"}
	for _, key := range keys {
		c.AllOf = append(c.AllOf, Requirement{Kind: kindKey, Annotations: annotations, key: key})
	}
	return c
}

func (a *AnyOf) complete() error {
	if a == nil {
		return nil
	}
	for i := range a.Signatures {
		if err := a.Signatures[i].complete(); err != nil {
			return fmt.Errorf("anyOf, entry %d: %w", i+1, err)
		}
	}
	switch n := a.minimum(); {
	case n < 1:
		return fmt.Errorf("anyOf: minimumMatches %d: want at least 1", n)
	case n > len(a.Signatures):
		return fmt.Errorf("anyOf: minimumMatches %d, but there are only %d signatures to match", n, len(a.Signatures))
	}
	return nil
}

func (a *AnyOf) minimum() int {
	if a.MinimumMatches == nil {
		return 1
	}
	return *a.MinimumMatches
}

// Kinds of requirements.
const (
	kindKey    = "pubKey"
	kindIssuer = "genericIssuer"
	kindGitHub = "githubAction"
)

// complete validates a requirement, and fills in the defaults of its kind.
func (r *Requirement) complete() error {
	given := map[string]bool{
		"owner": r.Owner != "", "key": r.Key != "", "issuer": r.Issuer != "", "subject": r.Subject != nil, "repo": r.Repo != "",
	}
	var needs, may []string
	switch r.Kind {
	case kindKey:
		needs, may = []string{"key"}, []string{"owner"}
	case kindIssuer:
		needs = []string{"issuer", "subject"}
	case kindGitHub:
		needs, may = []string{"owner"}, []string{"repo"}
	default:
		return fmt.Errorf("kind %q: want pubKey, genericIssuer, or githubAction", r.Kind)
	}
	for _, name := range needs {
		if !given[name] {
			return fmt.Errorf("%s needs %s", r.Kind, name)
		}
		delete(given, name)
	}
	for _, name := range may {
		delete(given, name)
	}
	for name, is := range given {
		if is {
			return fmt.Errorf("%s has no %s", r.Kind, name)
		}
	}
	return r.parse()
}

func (r *Requirement) parse() error {
	var err error
	switch {
	case r.Kind == kindKey:
		r.key, err = ParsePublicKey([]byte(r.Key))
	case r.Subject != nil && (r.Subject.Equal == "") == (r.Subject.URLPrefix == ""):
		err = errors.New("subject needs either equal or urlPrefix")
	case r.Subject != nil && r.Subject.URLPrefix != "":
		var u *url.URL
		if u, err = url.Parse(r.Subject.URLPrefix); err == nil && (u.Scheme == "" || u.Host == "") {
			err = fmt.Errorf("urlPrefix %q is no URL", r.Subject.URLPrefix)
		}
		r.Subject.URLPrefix = strings.TrimSuffix(r.Subject.URLPrefix, "/") + "/"
	}
	return err
}

// String describes the requirement in messages.
func (r *Requirement) String() string {
	switch r.Kind {
	case kindKey:
		name := "key " + r.key.fingerprint[:12]
		if r.Owner != "" {
			name += " of " + r.Owner
		}
		return name
	case kindGitHub:
		return "GitHub action of " + strings.TrimSuffix(r.Owner+"/"+r.Repo, "/")
	}
	if r.Subject.Equal != "" {
		return r.Subject.Equal + " of " + r.Issuer
	}
	return r.Subject.URLPrefix + "… of " + r.Issuer
}
