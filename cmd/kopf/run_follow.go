package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/artifacts/modules"
	"github.com/kopf-wasm/kopf/operator"
)

// minFollow is the minimum interval between two checks of a tag. It protects the registry.
const minFollow = time.Second

// checkFollow validates --follow and its conflicts with other flags.
func (o *runOptions) checkFollow() error {
	switch {
	case !o.flags.Changed("follow"):
		return nil
	case o.follow < minFollow:
		return usageError{fmt.Errorf("--follow %v: want at least %v", o.follow, minFollow)}
	case o.dev:
		return usageError{errors.New("--dev follows files, --follow follows tags: they cannot be used together")}
	case o.once:
		return usageError{errors.New("--once exits when all objects are handled: it cannot be combined with --follow")}
	case modules.When(o.pull) == modules.Never:
		return usageError{errors.New("--follow asks the registry, --pull never forbids it")}
	case !slices.ContainsFunc(o.modules, modules.Followable):
		return usageError{errors.New("--follow: no module is named by a tag, like oci://ghcr.io/me/operator:v1")}
	}
	return nil
}

// runFollowing runs an operator, and replaces modules when their tags move.
func (o *runOptions) runFollowing(ctx context.Context, options operator.Options, stderr io.Writer, log zerolog.Logger) error {
	finder, err := o.finder(stderr)
	if err != nil {
		return err
	}
	defer finder.Client.Close()
	if err := o.guard(finder); err != nil {
		return err
	}
	log = log.With().Str("logger", "kopf.artifacts").Logger()
	f := &modules.Follower{
		Finder: finder, Every: o.follow,
		Info: func(text string) { log.Info().Msg(text) },
		Warn: func(text string) { log.Warn().Msg(text) },
	}
	options.KeepRights = true
	options.Open = func(ctx context.Context, name string) (string, []byte, error) {
		found, err := f.Open(ctx, name)
		if err != nil {
			return "", nil, err
		}
		return found.Name, found.Module, nil
	}
	op, err := operator.New(ctx, options)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // stopped before it was started
	case err != nil:
		return err
	}
	f.Reload = func(ctx context.Context) error {
		_, err := op.Reload(ctx)
		return err
	}
	return op.RunWith(ctx, f.Run)
}
