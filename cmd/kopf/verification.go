package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/kopf-wasm/kopf/host/modules"
	"github.com/kopf-wasm/kopf/host/oci"
	"github.com/kopf-wasm/kopf/host/signatures"
)

// verificationOptions are the flags about whose signatures are demanded.
type verificationOptions struct {
	verify      bool
	keys        []string
	annotations []string
	config      string
}

func (o *verificationOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&o.keys, "verification-key", "k", nil, "demand a signature by the public key in this `file`, in PEM (repeatable: by each of them)")
	flags.StringArrayVar(&o.annotations, "verification-annotation", nil, "demand that signatures by keys have this annotation: `KEY=VALUE` (repeatable)")
	flags.StringVar(&o.config, "verification-config-path", "", "demand what this `file` says (default kopf/verification.yml in the folder of configurations)")
}

func (o *verificationOptions) addVerifyFlag(flags *pflag.FlagSet) {
	flags.BoolVar(&o.verify, "verify", false, "run only artifacts that are signed as demanded")
}

// demanded tells whether modules have to be signed.
func (o *verificationOptions) demanded() bool {
	return o.verify || len(o.keys) > 0 || o.config != ""
}

// demands reads whose signatures are demanded.
func (o *verificationOptions) demands() (*signatures.Config, error) {
	annotations, err := pairs("--verification-annotation", o.annotations)
	switch {
	case err != nil:
		return nil, err
	case len(o.keys) > 0 && o.config != "":
		return nil, usageError{errors.New("either --verification-key or --verification-config-path can be used, not both")}
	case len(o.keys) == 0 && annotations != nil:
		return nil, usageError{errors.New("--verification-annotation belongs to --verification-key")}
	case len(o.keys) > 0:
		keys, err := signatures.ReadKeys(o.keys)
		if err != nil {
			return nil, err
		}
		return signatures.ByKeys(keys, annotations), nil
	}
	path := o.config
	if path == "" {
		path = signatures.DefaultPath()
	}
	config, err := signatures.ReadConfig(path)
	if err != nil {
		return nil, fmt.Errorf("whose signatures are demanded? Name keys (-k cosign.pub), or write it down: %w", err)
	}
	return config, nil
}

// guard lets a finder find verified artifacts only.
func (o *verificationOptions) guard(f *modules.Finder) error {
	if !o.demanded() {
		return nil
	}
	config, err := o.demands()
	if err != nil {
		return err
	}
	v := &signatures.Verifier{Config: config}
	for _, from := range f.Attachments() {
		v.Sources = append(v.Sources, from)
	}
	f.Verify = func(ctx context.Context, r oci.Reference) error {
		_, err := v.Verify(ctx, r)
		return err
	}
	return nil
}
