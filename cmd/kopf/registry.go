package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"github.com/kopf-wasm/kopf/artifacts/modules"
	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/sources"
	"github.com/kopf-wasm/kopf/artifacts/oci/store"
	"github.com/kopf-wasm/kopf/internal/legible"
	"github.com/kopf-wasm/kopf/operator"
)

// registryOptions are the registry flags that several commands share.
type registryOptions struct {
	sources string
	auth    string
	pull    string
	silent  bool // no progress is shown
	lines   bool // progress is shown in pipes, too: nothing else is written there
	meter   *meter
}

func (o *registryOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.sources, "sources-path", "", "the `file` about insecure registries, authorities and proxies (default kopf/sources.yaml in the configuration directory)")
	flags.StringVar(&o.auth, "docker-config-json-path", "", "the `file` with credentials (default those of Docker and Podman)")
}

func (o *registryOptions) addPullFlag(flags *pflag.FlagSet) {
	flags.StringVar(&o.pull, "pull", string(modules.Always), "ask the registry about a tag: always, missing (from the store), or never")
}

func (o *registryOptions) checkPull() error {
	switch modules.When(o.pull) {
	case "", modules.Always, modules.Missing, modules.Never:
		return nil
	}
	return usageError{fmt.Errorf("--pull %q: want always, missing, or never", o.pull)}
}

// addQuietFlag adds --quiet to a command that is no operator.
func (o *registryOptions) addQuietFlag(flags *pflag.FlagSet) {
	flags.BoolVarP(&o.silent, "quiet", "q", false, "show no progress of downloads, uploads and compilations")
	o.lines = true
}

// progress returns what shows transfers; nil: nothing does, as in the log of an operator.
func (o *registryOptions) progress(stderr io.Writer) func(name string) (moved func(done, total int64), ended func()) {
	m := o.meterOf(stderr)
	if o.silent || !m.terminal() && !o.lines {
		return nil
	}
	return m.transfer
}

// meterOf returns the meter of the command: all its work shares one line.
func (o *registryOptions) meterOf(stderr io.Writer) *meter {
	if o.meter == nil {
		o.meter = newMeter(stderr)
	}
	return o.meter
}

// compiling returns what shows the compilation of a large module, once before it takes place or,
// on a terminal, until it ends.
func (o *registryOptions) compiling(name string, stderr io.Writer) func(size int, about time.Duration) (ended func()) {
	name = filepath.Base(name)
	return func(size int, about time.Duration) func() {
		switch m := o.meterOf(stderr); {
		case o.silent || size < operator.LongCompilation:
		case m.terminal():
			return m.countdown(operator.Compiled(name)+":", "compiling, once on this machine", max(about, time.Second))
		default:
			fmt.Fprintln(stderr, legible.Line(operator.CompilingText(name, about)))
		}
		return func() {}
	}
}

// notes is where messages about work that takes time are written.
func (o *registryOptions) notes(stderr io.Writer) io.Writer {
	if o.silent {
		return io.Discard
	}
	return stderr
}

// client creates a client without connecting.
func (o *registryOptions) client(stderr io.Writer) (*oci.Client, error) {
	from, err := sources.Read(o.sources)
	if err != nil {
		return nil, fmt.Errorf("sources: %w", err)
	}
	return oci.New(oci.Options{Sources: from, ConfigFile: o.auth, UserAgent: "kopf/" + version(), Progress: o.progress(stderr)}), nil
}

// finder finds modules by name. Without a cache directory, it stores nothing.
func (o *registryOptions) finder(stderr io.Writer) (*modules.Finder, error) {
	if err := o.checkPull(); err != nil {
		return nil, err
	}
	client, err := o.client(stderr)
	if err != nil {
		return nil, err
	}
	f := &modules.Finder{Client: client, Pull: modules.When(o.pull), Warn: func(text string) { fmt.Fprintln(stderr, "Warning: "+legible.Line(text)) }}
	if dir := store.DefaultDir(); dir != "" {
		if f.Store, err = store.Open(dir); err != nil {
			f.Warn(err.Error() + "; nothing is kept")
		}
	}
	return f, nil
}

// opener opens modules for an operator, and reports which artifacts they are.
func (o *registryOptions) opener(v *verificationOptions, stderr io.Writer, log zerolog.Logger) func(ctx context.Context, name string) (string, []byte, error) {
	return func(ctx context.Context, name string) (string, []byte, error) {
		finder := &modules.Finder{} // sufficient for files
		if oci.IsReference(name) || v.demanded() {
			var err error
			if finder, err = o.finder(stderr); err != nil {
				return "", nil, err
			}
			defer finder.Client.Close()
			if err := v.guard(finder); err != nil {
				return "", nil, err
			}
		}
		found, err := finder.Open(ctx, name)
		if err != nil {
			return "", nil, err
		}
		if found.Manifest != nil {
			log.Info().Str("logger", "kopf.artifacts").Msg(fmt.Sprintf("Running %s.", found.Name))
		}
		return found.Name, found.Module, nil
	}
}

// openStore opens the store of this user, for commands that need only the store.
func openStore() (*store.Store, error) {
	dir := store.DefaultDir()
	if dir == "" {
		return nil, errors.New("there is no cache directory: set HOME or XDG_CACHE_HOME")
	}
	return store.Open(dir)
}

// parseReference parses a reference of the command line.
func parseReference(text string) (oci.Reference, error) {
	r, err := oci.Parse(text)
	if err != nil {
		return r, usageError{err}
	}
	return r, nil
}

// oneReference parses the arguments of a command that takes one artifact.
func oneReference(args []string) (oci.Reference, error) {
	if len(args) != 1 {
		return oci.Reference{}, usageError{errors.New("name one artifact, like oci://ghcr.io/me/operator:v1")}
	}
	return parseReference(args[0])
}
