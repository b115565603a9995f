package credentials

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"
)

// HostLogin is a way of the host to log in.
type HostLogin struct {
	// Name is what login handlers know it by.
	Name string

	// Where says to people where it looks; may be empty.
	Where string

	// Get gives the credentials as they are now; nil if there are none, such as the
	// service account outside of a cluster.
	Get func(ctx context.Context) (*Info, error)
}

// FromHost are the host's own credentials. One login that fails does not matter if
// there is another one; if all do, the errors are those of the login.
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
