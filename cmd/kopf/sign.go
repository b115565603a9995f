package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/kopf-wasm/kopf/artifacts/signatures"
)

func newSignCmd(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	o := &registryOptions{}
	var keyFile string
	var annotations []string
	var asBundle bool
	cmd := &cobra.Command{
		Use:   "sign oci://REFERENCE --key FILE",
		Short: "Sign an artifact with a key",
		Long: `Sign signs the digest of a reference, pushes the signature next to the artifact, and prints
the reference with the digest. The key is that of cosign, whose password comes from
$COSIGN_PASSWORD or the terminal, or a key in PKCS #8 without encryption. To sign with a
certificate, without a key, use cosign; kopf verifies such signatures.`,
		Example: `  kopf sign oci://ghcr.io/me/operator:v1 --key cosign.key
  kopf sign oci://ghcr.io/me/operator@sha256:1dc1… --key key.pem --bundle -a env=prod`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || keyFile == "" {
				return usageError{errors.New("name one artifact and a key: kopf sign oci://ghcr.io/me/operator:v1 --key cosign.key (without keys, cosign signs, and kopf verifies)")}
			}
			r, err := parseReference(args[0])
			if err != nil {
				return err
			}
			extra, err := pairs("--annotation", annotations)
			if err != nil {
				return err
			}
			text, err := os.ReadFile(keyFile)
			if err != nil {
				return err
			}
			key, err := signatures.ParsePrivateKey(text, func() ([]byte, error) { return password(stdin, stderr) })
			if err != nil {
				return fmt.Errorf("%s: %w", keyFile, err)
			}
			client, err := o.client(stderr)
			if err != nil {
				return err
			}
			defer client.Close()
			m, err := client.Manifest(cmd.Context(), r)
			if err != nil {
				return err
			}
			if err := signatures.Sign(cmd.Context(), client, m.Reference, m.Descriptor(), key, extra, asBundle); err != nil {
				return err
			}
			fmt.Fprintln(stdout, m.Reference)
			return nil
		},
	}
	o.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&keyFile, "key", "", "the `file` with the private key (required)")
	cmd.Flags().StringArrayVarP(&annotations, "annotation", "a", nil, "an annotation of the signature as `KEY=VALUE` (repeatable)")
	cmd.Flags().BoolVar(&asBundle, "bundle", false, "attach a Sigstore bundle as a referrer (OCI 1.1) instead of using cosign's tag")
	return cmd
}

// password prompts for the password of a key.
func password(stdin io.Reader, stderr io.Writer) ([]byte, error) {
	if text, ok := os.LookupEnv("COSIGN_PASSWORD"); ok {
		return []byte(text), nil
	}
	f, ok := stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil, errors.New("the key needs a password: set COSIGN_PASSWORD")
	}
	fmt.Fprint(stderr, "Password of the key: ")
	defer fmt.Fprintln(stderr)
	return term.ReadPassword(int(f.Fd()))
}
