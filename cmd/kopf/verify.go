package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func newVerifyCmd(stdout, stderr io.Writer) *cobra.Command {
	registry, o := &registryOptions{}, &verificationOptions{}
	cmd := &cobra.Command{
		Use:   "verify oci://REFERENCE",
		Short: "Check the signatures of an artifact or an image",
		Long: `Verify finds the digest of a reference, and checks its signatures: by keys, by certificates,
or as kopf/verification.yml requires. It prints the reference with the digest: run this one.
The exit code is 3 if a required signature is missing.`,
		Example: `  kopf verify oci://ghcr.io/me/operator:v1 -k cosign.pub
  kopf verify oci://ghcr.io/me/operator:v1 --github-owner me --github-repo operator
  kopf verify oci://ghcr.io/me/operator:v1 --cert-subject me@example.com --cert-oidc-issuer https://accounts.google.com
  kopf verify oci://ghcr.io/me/operator:v1 --verification-config-path verification.yml
  kopf verify oci://ghcr.io/me/operator:v1 -k cosign.pub --pull never`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := oneReference(args)
			if err != nil {
				return err
			}
			config, err := o.demands()
			if err != nil {
				return err
			}
			finder, err := registry.finder(stderr)
			if err != nil {
				return err
			}
			defer finder.Client.Close()
			if r.Digest, err = finder.Resolve(cmd.Context(), r); err != nil {
				return err
			}
			signers, err := o.verifier(finder, config).Verify(cmd.Context(), r)
			if err != nil {
				return err
			}
			fmt.Fprintln(stdout, r)
			for _, s := range signers {
				fmt.Fprintf(stderr, "signed by %s\n", s)
			}
			return nil
		},
	}
	registry.addFlags(cmd.Flags())
	registry.addPullFlag(cmd.Flags())
	o.addFlags(cmd.Flags())
	return cmd
}
