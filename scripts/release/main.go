// Command release makes releases: `make image`, `make release`, `make tags` and `make push` run it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/kopf-wasm/kopf/artifacts/signatures"
	"github.com/kopf-wasm/kopf/scripts/release/assets"
	"github.com/kopf-wasm/kopf/scripts/release/programs"
	"github.com/kopf-wasm/kopf/scripts/release/push"
	"github.com/kopf-wasm/kopf/scripts/release/tags"
	"github.com/kopf-wasm/kopf/scripts/release/tree"
	"github.com/kopf-wasm/kopf/scripts/release/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// options are the flags of all verbs.
type options struct {
	version, root, out, work, engines, key, to, platforms string
	dirty                                                 bool
}

var errUsage = errors.New("usage: release check|image|build|seal|tags|push -version VERSION [flags]")

// run runs a verb.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	o := options{}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.version, "version", "", "the `version`: 0.1.0")
	flags.StringVar(&o.root, "root", ".", "the `folder` of the repository")
	flags.StringVar(&o.out, "out", "dist", "the `folder` of releases")
	flags.StringVar(&o.work, "work", ".cache/release", "the `folder` for what can be made again")
	flags.StringVar(&o.engines, "engines", "", "the `folder` with the engines of scripts (default: a release without engines)")
	flags.StringVar(&o.key, "key", "", "the `file` with the key that signs the checksums, in the format of cosign or PKCS #8")
	flags.StringVar(&o.to, "to", "", "the `prefix` of names in a registry: ghcr.io/me")
	flags.StringVar(&o.platforms, "platforms", "", "the `platforms`, separated by commas: linux/amd64,darwin/arm64 (default all)")
	flags.BoolVar(&o.dirty, "dirty", false, "release files that are not committed, to try something")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	v, err := version.Parse(o.version)
	if err != nil {
		return err
	}
	return o.do(ctx, args[0], v, stdout, stderr)
}

func (o *options) do(ctx context.Context, verb string, v version.Version, stdout, stderr io.Writer) error {
	folder := filepath.Join(o.out, string(v))
	switch verb {
	case "push":
		return o.push(ctx, folder, v, stdout)
	case "seal":
		return o.seal(folder)
	}
	root, err := filepath.Abs(o.root)
	if err != nil {
		return err
	}
	from, err := tree.Open(ctx, root)
	if err != nil {
		return err
	}
	if !o.dirty {
		if err := from.CheckClean(ctx); err != nil {
			return err
		}
	}
	switch verb {
	case "check":
		return nil
	case "image", "build":
		return o.build(ctx, from, v, folder, verb == "image", stdout, stderr)
	case "tags":
		return o.tags(ctx, from, v, stdout)
	}
	return errUsage
}

func (o *options) build(ctx context.Context, from *tree.Tree, v version.Version, folder string, imageOnly bool, stdout, stderr io.Writer) error {
	if _, err := o.readKey(); err != nil { // seal needs it: a mistake shows before the build
		return err
	}
	platforms, err := o.chosen()
	if err != nil {
		return err
	}
	work, err := filepath.Abs(o.work)
	if err != nil {
		return err
	}
	err = assets.Make(ctx, from, assets.Options{
		Version: v, Folder: folder, Work: work, Engines: o.engines, Platforms: platforms, ImageOnly: imageOnly,
		Progress: func(step string) { fmt.Fprintln(stderr, step+"...") },
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, folder)
	return nil
}

// seal writes and signs the checksums.
func (o *options) seal(folder string) error {
	key, err := o.readKey()
	if err != nil {
		return err
	}
	return assets.Seal(folder, key)
}

// chosen are the platforms of the flag.
func (o *options) chosen() ([]programs.Platform, error) {
	if o.platforms == "" {
		return programs.Platforms, nil
	}
	var chosen []programs.Platform
	for name := range strings.SplitSeq(o.platforms, ",") {
		system, architecture, ok := strings.Cut(name, "/")
		if !ok {
			return nil, fmt.Errorf("-platforms %q: want a system and an architecture, like linux/amd64", name)
		}
		chosen = append(chosen, programs.Platform{OS: system, Architecture: architecture})
	}
	return chosen, nil
}

// readKey reads the key of the flag, with the password in $COSIGN_PASSWORD.
func (o *options) readKey() (*signatures.PrivateKey, error) {
	if o.key == "" {
		return nil, nil //nolint:nilnil // without a key, there is no signature
	}
	text, err := os.ReadFile(o.key)
	if err != nil {
		return nil, err
	}
	key, err := signatures.ParsePrivateKey(text, func() ([]byte, error) {
		password, ok := os.LookupEnv("COSIGN_PASSWORD")
		if !ok {
			return nil, errors.New("the key needs a password: set COSIGN_PASSWORD")
		}
		return []byte(password), nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.key, err)
	}
	return key, nil
}

func (o *options) tags(ctx context.Context, from *tree.Tree, v version.Version, stdout io.Writer) error {
	work, err := filepath.Abs(o.work)
	if err != nil {
		return err
	}
	made, err := tags.Make(ctx, from, v, work)
	if err != nil {
		return err
	}
	for _, tag := range made {
		fmt.Fprintln(stdout, "git push origin", tag)
	}
	return nil
}

func (o *options) push(ctx context.Context, folder string, v version.Version, stdout io.Writer) error {
	if o.to == "" {
		return errors.New("the registry is missing: add REGISTRY=ghcr.io/me")
	}
	pushed, err := push.Release(ctx, o.root, folder, strings.TrimPrefix(o.to, "oci://"), v)
	for _, name := range pushed {
		fmt.Fprintln(stdout, name)
	}
	return err
}
