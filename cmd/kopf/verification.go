package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/kopf-wasm/kopf/artifacts/modules"
	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/signatures"
)

// verificationOptions are the flags for required signatures.
type verificationOptions struct {
	verify      bool
	keys        []string
	annotations []string
	config      string

	subject, issuer string // of certificates
	owner, repo     string // of GitHub
	trust           string
}

func (o *verificationOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&o.keys, "verification-key", "k", nil, "require a signature by the public key in this `file`, in PEM (repeatable: by each of them)")
	flags.StringArrayVar(&o.annotations, "verification-annotation", nil, "require signatures with this annotation: `KEY=VALUE` (repeatable)")
	flags.Var((*demand)(&o.subject), "cert-subject", "require a signature with a certificate for this `SUBJECT`: an e-mail address, or a URL")
	flags.Var((*demand)(&o.issuer), "cert-oidc-issuer", "the `URL` of the identity provider of --cert-subject")
	flags.Var((*demand)(&o.owner), "github-owner", "require a signature by a GitHub workflow of this `OWNER`")
	flags.Var((*demand)(&o.repo), "github-repo", "require a signature by a GitHub workflow of this `REPOSITORY` of --github-owner")
	flags.Var((*demand)(&o.trust), "sigstore-trust-config", "the `file` with the trusted root for certificates (default kopf/trusted_root.json in the configuration directory, or else that of the public Sigstore)")
	flags.Var((*demand)(&o.config), "verification-config-path", "require the signatures that this `file` lists (default kopf/verification.yml in the configuration directory)")
}

func (o *verificationOptions) addVerifyFlag(flags *pflag.FlagSet) {
	flags.BoolVar(&o.verify, "verify", false, "run only artifacts with the required signatures")
}

// named reports whether flags name signers.
func (o *verificationOptions) named() bool {
	return len(o.keys) > 0 || o.subject != "" || o.owner != ""
}

// demand is the value of a flag that demands signatures, or says how they are verified. It is not
// empty, as a shell variable is that is not set: then less would be demanded.
type demand string

// Set refuses the empty text.
func (d *demand) Set(text string) error {
	if text == "" {
		return errors.New("it is empty")
	}
	*d = demand(text)
	return nil
}

// String returns the value.
func (d *demand) String() string { return string(*d) }

// Type is that of texts.
func (*demand) Type() string { return "string" }

// demanded reports whether modules must be signed. It is true for flags, too, that demand
// signatures only together with others: demands refuses them alone.
func (o *verificationOptions) demanded() bool {
	return o.verify || o.named() || o.config != "" || o.issuer != "" || o.repo != "" || len(o.annotations) > 0
}

// checkSigners checks the flags once, before they are used.
func (o *verificationOptions) checkSigners() error {
	switch {
	case !o.demanded() && o.trust != "":
		return usageError{errors.New("--sigstore-trust-config alone demands no signatures: add --verify, or flags that name signers, like --cert-subject")}
	case !o.demanded():
		return nil
	}
	_, err := o.demands()
	return err
}

// byFlags returns the requirements of the flags. All of them must be fulfilled.
func (o *verificationOptions) byFlags(annotations map[string]string) (*signatures.Config, error) {
	keys, err := signatures.ReadKeys(o.keys)
	if err != nil {
		return nil, fmt.Errorf("--verification-key: %w", err)
	}
	config := signatures.ByKeys(keys, annotations)
	if o.subject != "" {
		config.Require(signatures.ByIssuer(o.issuer, o.subject, annotations))
	}
	if o.owner != "" {
		config.Require(signatures.ByGitHub(o.owner, o.repo, annotations))
	}
	return config, nil
}

// demands returns the required signatures.
func (o *verificationOptions) demands() (*signatures.Config, error) {
	annotations, err := pairs("--verification-annotation", o.annotations)
	switch {
	case err != nil:
		return nil, err
	case (o.subject == "") != (o.issuer == ""):
		return nil, usageError{errors.New("--cert-subject and --cert-oidc-issuer belong together")}
	case o.owner == "" && o.repo != "":
		return nil, usageError{errors.New("--github-repo belongs to --github-owner")}
	case o.named() && o.config != "":
		return nil, usageError{errors.New("either --verification-config-path can be used, or flags that name signers, not both")}
	case !o.named() && annotations != nil:
		return nil, usageError{errors.New("--verification-annotation belongs to flags that name signers, like --verification-key")}
	case o.named():
		return o.byFlags(annotations)
	}
	path := o.config
	if path == "" {
		path = signatures.DefaultPath()
	}
	config, err := signatures.ReadConfig(path)
	if err != nil {
		return nil, fmt.Errorf("the required signatures are not configured: name keys (-k cosign.pub), or write a verification file: %w", err)
	}
	return config, nil
}

// verifier verifies the artifacts that a finder finds.
func (o *verificationOptions) verifier(f *modules.Finder, config *signatures.Config) *signatures.Verifier {
	return &signatures.Verifier{Sources: f.Attachments(), Config: config, Certificates: newCertificateVerifier(o.trust)}
}

// guard makes a finder accept only verified artifacts.
func (o *verificationOptions) guard(f *modules.Finder) error {
	if !o.demanded() {
		return nil
	}
	config, err := o.demands()
	if err != nil {
		return err
	}
	v := o.verifier(f, config)
	f.Verify = func(ctx context.Context, r oci.Reference) error {
		_, err := v.Verify(ctx, r)
		return err
	}
	return nil
}
