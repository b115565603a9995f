package reactor

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/guests"
)

// tidy is a guest with a cleanup handler. It counts its calls.
type tidy struct {
	watchful
	cleanups int
}

func (*tidy) Registration() *abi.Registration {
	return &abi.Registration{Handlers: []abi.Handler{{Kind: abi.KindCleanup, ID: "cleanup_fn"}}}
}

func (g *tidy) Start(context.Context, *abi.Invocation, []byte, guests.Env) (guests.Task, *abi.Step, error) {
	g.cleanups++
	return watchfulTask{}, &abi.Step{Step: abi.StepDone}, nil
}

// TestCleanupWithoutCredentials: startup handlers have run before the login, so that there may be something to clean up. As in Kopf,
// that is not done if a login handler has failed.
func TestCleanupWithoutCredentials(t *testing.T) {
	for _, tt := range []struct {
		name     string
		failure  error
		cleanups int
	}{
		{"there are none", credentials.ErrDepleted, 1},
		{"a login handler has failed", errors.New("no access"), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guest := &tidy{}
				op, end := oneStream(t, &store{}, guest, nil)
				defer end()
				op.leave = func() {}
				err := op.afterServing(t.Context(), fmt.Errorf("%w: %w", errNoLogin, tt.failure))
				if !errors.Is(err, tt.failure) || guest.cleanups != tt.cleanups {
					t.Errorf("%d cleanups, want %d; the error is %v", guest.cleanups, tt.cleanups, err)
				}
			})
		})
	}
}
