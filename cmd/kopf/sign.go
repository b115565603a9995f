package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/signatures"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
)

// signOptions are the flags of `kopf sign`.
type signOptions struct {
	registryOptions
	key         string
	annotations []string
	bundle      bool
	recursive   bool
}

func newSignCmd(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	o := &signOptions{}
	cmd := &cobra.Command{
		Use:   "sign oci://REFERENCE --key FILE",
		Short: "Sign an artifact or an image with a key",
		Long: `Sign signs the digest of a reference, pushes the signature next to the artifact, and prints
the reference with the digest. The reference names an operator, a container image or a chart.
The signature of an image for several architectures is that of its index; --recursive also
signs the image of each architecture.

The key is that of cosign, whose password comes from $COSIGN_PASSWORD or the terminal, or a key
in PKCS #8 without encryption. To sign with a certificate, without a key, use cosign; kopf
verifies such signatures.`,
		Example: `  kopf sign oci://ghcr.io/me/operator:v1 --key cosign.key
  kopf sign oci://ghcr.io/me/operator@sha256:1dc1… --key key.pem --bundle -a env=prod
  kopf sign oci://ghcr.io/me/kopf:0.1.0 --key cosign.key --recursive`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || o.key == "" {
				return usageError{errors.New("name one artifact and a key: kopf sign oci://ghcr.io/me/operator:v1 --key cosign.key (without keys, cosign signs, and kopf verifies)")}
			}
			r, err := parseReference(args[0])
			if err != nil {
				return err
			}
			return o.sign(cmd.Context(), r, stdin, stdout, stderr)
		},
	}
	o.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.key, "key", "", "the `file` with the private key (required)")
	cmd.Flags().StringArrayVarP(&o.annotations, "annotation", "a", nil, "an annotation of the signature as `KEY=VALUE` (repeatable)")
	cmd.Flags().BoolVar(&o.bundle, "bundle", false, "attach a Sigstore bundle as a referrer (OCI 1.1) instead of using cosign's tag")
	cmd.Flags().BoolVar(&o.recursive, "recursive", false, "also sign each image that an index lists, such as those of several architectures")
	return cmd
}

// sign signs an artifact, and before it what its index lists: if signing fails halfway, the index
// has no signature.
func (o *signOptions) sign(ctx context.Context, r oci.Reference, stdin io.Reader, stdout, stderr io.Writer) error {
	extra, err := pairs("--annotation", o.annotations)
	if err != nil {
		return err
	}
	key, err := o.privateKey(stdin, stderr)
	if err != nil {
		return err
	}
	client, err := o.client(stderr)
	if err != nil {
		return err
	}
	defer client.Close()
	image, err := client.Image(ctx, r)
	if err != nil {
		return err
	}
	if o.recursive {
		for _, listed := range image.Listed {
			at := image.Reference.At(listed.Digest)
			if err := signatures.Sign(ctx, client, at, listed, key, extra, o.bundle); err != nil {
				return err
			}
			fmt.Fprintln(stdout, at)
		}
	}
	if err := signatures.Sign(ctx, client, image.Reference, image.Descriptor, key, extra, o.bundle); err != nil {
		return err
	}
	fmt.Fprintln(stdout, image.Reference)
	return nil
}

// privateKey reads the key of the flag.
func (o *signOptions) privateKey(stdin io.Reader, stderr io.Writer) (*signatures.PrivateKey, error) {
	text, err := boundedfile.Read(o.key, boundedfile.MaxDocument)
	if err != nil {
		return nil, err
	}
	key, err := signatures.ParsePrivateKey(text, func() ([]byte, error) { return password(stdin, stderr) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.key, err)
	}
	return key, nil
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
