package credentials

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"
)

// ErrNone is the error of commands if the host has no credentials.
var ErrNone = errors.New("there is no cluster: no kubeconfig, and no service account of a pod: set KUBECONFIG to a file with a current context")

// HostLogin is one way in which the host can log in.
type HostLogin struct {
	// Name identifies the login for login handlers.
	Name string

	// Where says in messages where the login looks for credentials; may be empty.
	Where string

	// Get returns the current credentials; nil if none exist, such as the service account
	// outside of a cluster.
	Get func(ctx context.Context) (*Info, error)
}

// FromHost returns the host's own credentials. It logs the failure of one login if another
// succeeds. If all fail, it returns their errors.
func FromHost(ctx context.Context, logins []HostLogin, log zerolog.Logger) (map[string]Info, error) {
	found := map[string]Info{}
	var failures []error
	for _, login := range logins {
		info, err := login.Get(ctx)
		switch {
		case err != nil:
			log.Error().Msg(fmt.Sprintf("Login with '%s' has failed: %v", login.Name, err))
			failures = append(failures, err)
		case info != nil:
			log.Debug().Msg(fmt.Sprintf("Login with '%s' is possible.", login.Name))
			found[login.Name] = *info
		}
	}
	if len(found) == 0 {
		return nil, errors.Join(failures...)
	}
	return found, nil
}
