// Package development runs an operator while its author changes it: it builds the operator at the
// start and at each change of the sources, and replaces the running one.
package development

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/toolchains"
	"github.com/kopf-wasm/kopf/reactor/loggers"
)

// Session is one run of an operator in development.
type Session struct {
	Project  *toolchains.Project
	Options  operator.Options // Modules and Reload are the session's
	Messages io.Writer        // for the outputs of compilers
	Log      zerolog.Logger

	built toolchains.Sources // what the last build was made of
}

// Run builds the operator, and runs it until the context ends. An operator that cannot be built or
// loaded waits for the next change. When it runs already, the earlier one continues meanwhile.
//
// # Errors
//
//   - *toolchains.MissingError: a tool is missing at the start.
//   - *operator.MissingGrantsError: the operator wants more than it is granted at the start.
//   - Others are those of operator.Operator.Run.
func (s *Session) Run(ctx context.Context) error {
	op, err := s.start(ctx)
	switch {
	case ctx.Err() != nil: // stopped before it was started
		if op != nil {
			return op.Close(context.WithoutCancel(ctx))
		}
		return nil
	case err != nil:
		return err
	}
	return op.RunWith(ctx, func(ctx context.Context) { s.follow(ctx, op) })
}

// start builds and loads the operator, as often as it takes.
func (s *Session) start(ctx context.Context) (*operator.Operator, error) {
	s.Options.Modules, s.Options.Reload = []string{s.module()}, false
	for {
		err := s.build(ctx)
		if err == nil {
			var op *operator.Operator
			if op, err = operator.New(ctx, s.Options); err == nil {
				return op, nil
			}
		}
		if ctx.Err() != nil || errors.As(err, new(*toolchains.MissingError)) || errors.As(err, new(*operator.MissingGrantsError)) {
			return nil, err
		}
		s.say(zerolog.ErrorLevel, "%v. Waiting for a change of %s.", err, s.Project.Folder)
		if s.built, err = s.Project.Changed(ctx, s.built); err != nil {
			return nil, err
		}
	}
}

// module is the file that the operator is loaded from.
func (s *Session) module() string {
	if s.Project.Script != "" {
		return s.Project.Script
	}
	return s.Project.Output()
}

// build compiles what the author has written. A file that changes meanwhile is built again.
func (s *Session) build(ctx context.Context) error {
	s.built = s.Project.Sources()
	if s.Project.Script != "" {
		return nil
	}
	s.say(zerolog.InfoLevel, "Building %s.", s.Project.Name())
	begun := time.Now()
	if err := s.Project.Build(ctx, s.Project.Output(), s.Messages); err != nil {
		return err
	}
	s.say(zerolog.InfoLevel, "Built in %v.", since(begun))
	return nil
}

// follow replaces the operator at each change.
func (s *Session) follow(ctx context.Context, op *operator.Operator) {
	for {
		now, err := s.Project.Changed(ctx, s.built)
		if err != nil {
			return
		}
		s.built = now
		if err := s.replace(ctx, op); err != nil && ctx.Err() == nil {
			s.say(zerolog.ErrorLevel, "%v. The previous version continues.", err)
		}
	}
}

func (s *Session) replace(ctx context.Context, op *operator.Operator) error {
	if err := s.build(ctx); err != nil {
		return err
	}
	begun := time.Now()
	changed, err := op.Reload(ctx)
	if err == nil && changed {
		s.say(zerolog.InfoLevel, "Reloaded in %v.", since(begun))
	}
	return err
}

func (s *Session) say(level zerolog.Level, format string, arguments ...any) {
	s.Log.WithLevel(level).Str(loggers.Field, "kopf.dev").Msg(fmt.Sprintf(format, arguments...))
}

func since(begun time.Time) time.Duration { return time.Since(begun).Round(time.Millisecond) }
