package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/artifacts/modules"
	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/sources"
	"github.com/kopf-wasm/kopf/artifacts/signatures"
	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/internal/slots"
	"github.com/kopf-wasm/kopf/operator"
)

// maxHosted bounds a module of a hosted operator, in bytes.
const maxHosted = 64 << 20

// artifactName is the name under which operator.Options knows an artifact.
const artifactName = "operator.wasm"

// fetcher gets the modules of hosted operators.
//
// Authors of declarations in a cluster are not trusted: nothing is taken from the store of
// this machine, because another operator may have put it there with its own credentials, and
// the credentials of this machine's user are used only if a flag names them.
type fetcher struct {
	registryOptions
	verify     *verificationOptions
	registries []string // that declarations may name in addition to public ones; names with ports
	memory     *fetchMemory
	turns      *slots.Pool // of verifications of certificates, of which one runs at a time; the owners are namespaces
}

// newFetcher creates the fetcher of a host.
func newFetcher(o registryOptions, verify *verificationOptions, registries []string) *fetcher {
	return &fetcher{registryOptions: o, verify: verify, registries: registries, memory: newFetchMemory(hostedMemory), turns: slots.New(1)}
}

func (f *fetcher) fetch(ctx context.Context, d *hosting.Declaration, secrets []map[string][]byte) (*hosting.Fetched, error) {
	if d.Local != "" && !d.Spec.IsArtifact() {
		return f.file(d)
	}
	r, err := oci.Parse(d.Spec.Module)
	if err == nil {
		err = f.checkRegistry(d, r)
	}
	if err == nil && d.Pin != "" {
		r, err = pinned(r, d.Pin)
	}
	if err != nil {
		return nil, &hosting.Refusal{Condition: api.Resolved, Reason: "ModuleNotAllowed", Final: true, Err: fmt.Errorf("spec.module: %w", err)}
	}
	finder, err := f.finderOf(d, r, secrets)
	if err != nil {
		return nil, err
	}
	defer finder.Client.Close()
	signed, err := f.guard(finder, d)
	if err != nil {
		return nil, err
	}
	reserved := &reservation{memory: f.memory, owner: d.Account().Namespace}
	found, err := reserved.fetch(ctx, finder, r)
	if err != nil {
		return nil, classified(d, err)
	}
	name, wasm := found.Name, found.Module
	return &hosting.Fetched{
		Name: artifactName, Artifact: name, Signed: signed, Release: reserved.release,
		Open: func(context.Context, string) (string, []byte, error) { return name, wasm, nil },
	}, nil
}

// pinned returns the artifact that another host runs, as the status of the declaration names it. It is refused unless it is in the
// repository that the spec names: an account that can write the status must not choose a repository.
func pinned(named oci.Reference, pin string) (oci.Reference, error) {
	r, err := oci.Parse(pin)
	switch {
	case err != nil:
		return r, fmt.Errorf("the artifact that another host runs: %w", err)
	case r.Registry != named.Registry || r.Repository != named.Repository || r.Digest == "" || named.Digest != "" && r.Digest != named.Digest:
		return r, fmt.Errorf("another host runs %s, which %s does not mean", r, named)
	}
	return r, nil
}

// file opens a module of the folder.
func (f *fetcher) file(d *hosting.Declaration) (*hosting.Fetched, error) {
	if f.verify.demanded() || d.Spec.Verification != nil {
		return nil, &hosting.Refusal{Condition: api.Verified, Reason: "File", Final: true, Err: fmt.Errorf("%s: %w", d.Spec.Module, modules.ErrFile)}
	}
	return &hosting.Fetched{Name: filepath.Join(d.Local, d.Spec.Module), Artifact: d.Spec.Module, Open: operator.Files}, nil
}

// check checks what can be checked without the registry: its name, that files are never signed, and that keys are valid.
func (f *fetcher) check(d *hosting.Declaration) error {
	if !d.Spec.IsArtifact() {
		_, err := f.file(d)
		return err
	}
	r, err := oci.Parse(d.Spec.Module)
	if err == nil {
		err = f.checkRegistry(d, r)
	}
	if err != nil {
		return fmt.Errorf("spec.module: %w", err)
	}
	_, err = f.guard(&modules.Finder{}, d)
	return err
}

// checkRegistry refuses registries on the host's own machine and behind addresses, unless a
// flag names them. Declarations of a folder may name any registry, unless there are flags.
func (f *fetcher) checkRegistry(d *hosting.Declaration, r oci.Reference) error {
	if d.Local != "" && len(f.registries) == 0 || slices.Contains(f.registries, r.Registry) {
		return nil
	}
	name, _, hasPort := strings.Cut(r.Registry, ":")
	_, err := netip.ParseAddr(name)
	if err == nil || !strings.Contains(name, ".") || strings.HasSuffix(name, ".localhost") {
		return fmt.Errorf("%s: this host asks registries by their public names only; its administrator can allow others by --allow-registry", r)
	}
	if len(f.registries) > 0 || hasPort {
		return fmt.Errorf("%s: this host does not ask the registry %s; its administrator can allow it by --allow-registry", r, r.Registry)
	}
	return nil
}

// checkAddress refuses addresses that are not public. The owner of a name chooses its
// addresses, so the name of a public registry could lead to services of the host's network.
func checkAddress(name string, address netip.Addr) error {
	if err := operator.CheckPublic(address); err != nil {
		return fmt.Errorf("%s: %w; the administrator of this host can allow the registry by --allow-registry", name, err)
	}
	return nil
}

// finderOf creates a finder with the credentials that the declaration may use.
func (f *fetcher) finderOf(d *hosting.Declaration, r oci.Reference, secrets []map[string][]byte) (*modules.Finder, error) {
	from, err := sources.Read(f.sources)
	if err != nil {
		return nil, fmt.Errorf("sources: %w", err)
	}
	o := oci.Options{Sources: from, ConfigFile: f.auth, UserAgent: "kopf/" + version(), MaxModule: maxHosted}
	if d.Local == "" && !slices.Contains(f.registries, r.Registry) {
		o.Control = checkAddress
	}
	if d.Local == "" && (f.auth == "" || len(secrets) > 0) {
		o.Configs = [][]byte{}
	}
	for i, secret := range secrets {
		config, ok := secret[hosting.CredentialsKey]
		if !ok {
			return nil, &hosting.Refusal{Condition: api.Resolved, Reason: "PullSecretInvalid", Err: fmt.Errorf("spec.pullSecrets[%d]: %s is not a secret of the type kubernetes.io/dockerconfigjson", i, d.Spec.PullSecrets[i])}
		}
		o.Configs = append(o.Configs, config)
	}
	return &modules.Finder{Client: oci.New(o), Pull: modules.Always}, nil
}

// guard demands the signatures of the declaration and those of the host.
func (f *fetcher) guard(finder *modules.Finder, d *hosting.Declaration) (signed bool, err error) {
	var demands []*signatures.Config
	if f.verify.demanded() {
		own, err := f.verify.demands()
		if err != nil {
			return false, err
		}
		demands = append(demands, own)
	}
	if v := d.Spec.Verification; v != nil && len(v.Keys) > 0 {
		var keys []*signatures.PublicKey
		for i, text := range v.Keys {
			key, err := signatures.ParsePublicKey([]byte(text))
			if err != nil {
				return false, &hosting.Refusal{Condition: api.Accepted, Reason: "InvalidSpec", Final: true, Err: fmt.Errorf("spec.verification.keys[%d]: %w", i, err)}
			}
			keys = append(keys, key)
		}
		demands = append(demands, signatures.ByKeys(keys, nil))
	}
	if len(demands) == 0 {
		return false, nil
	}
	finder.Verify = func(ctx context.Context, r oci.Reference) error {
		for _, config := range demands {
			v := f.verify.verifier(finder, config)
			v.Certificates = inTurn{v.Certificates, f.turns, d.Account().Namespace}
			if _, err := v.Verify(ctx, r); err != nil {
				return err
			}
		}
		return nil
	}
	return true, nil
}

// inTurn verifies certificates when it is the turn of the owner: otherwise the artifacts of one tenant, whose registry chooses how many
// signatures they have and how long these take, would be verified before those of others.
type inTurn struct {
	signatures.CertificateVerifier

	turns *slots.Pool
	owner string
}

// VerifyCertificates implements signatures.CertificateVerifier.
func (v inTurn) VerifyCertificates(ctx context.Context, digest string, found []signatures.Signature) ([]signatures.Finding, error) {
	turn, err := v.turns.Take(ctx, v.owner, 1)
	if err != nil {
		return nil, fmt.Errorf("waiting for the verification of other artifacts: %w", err)
	}
	defer v.turns.Give(v.owner, turn)
	return v.CertificateVerifier.VerifyCertificates(ctx, digest, found)
}

// classified adds the condition to an error of a registry.
func classified(d *hosting.Declaration, err error) error {
	var unauthorized *oci.UnauthorizedError
	switch {
	case errors.As(err, &unauthorized) && len(d.Spec.PullSecrets) > 0:
		return &hosting.Refusal{Condition: api.Resolved, Reason: "PullDenied", Err: fmt.Errorf("%s: %s; check the credentials for %s in spec.pullSecrets: %s", d.Spec.Module, unauthorized.Reason(), unauthorized.Registry, strings.Join(d.Spec.PullSecrets, ", "))}
	case errors.As(err, &unauthorized) && d.Local == "":
		return &hosting.Refusal{Condition: api.Resolved, Reason: "PullDenied", Err: fmt.Errorf("%s: %s; name secrets with credentials in spec.pullSecrets", d.Spec.Module, unauthorized.Reason())}
	case errors.Is(err, operator.ErrNotPublic):
		return &hosting.Refusal{Condition: api.Resolved, Reason: "ModuleNotAllowed", Err: fmt.Errorf("spec.module: %w", err)}
	case errors.Is(err, signatures.ErrUnverified):
		return &hosting.Refusal{Condition: api.Verified, Reason: "Unsigned", Err: err}
	case errors.Is(err, oci.ErrNotFound):
		return &hosting.Refusal{Condition: api.Resolved, Reason: "ModuleMissing", Err: err}
	case errors.Is(err, oci.ErrDenied):
		return &hosting.Refusal{Condition: api.Resolved, Reason: "PullDenied", Err: fmt.Errorf("%w; name secrets with credentials in spec.pullSecrets", err)}
	}
	return &hosting.Refusal{Condition: api.Resolved, Reason: "FetchFailed", Err: err}
}
