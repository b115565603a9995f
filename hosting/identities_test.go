package hosting

import (
	"context"
	"errors"

	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// identities of a test: of each account.
type identities struct{}

func (identities) Login(Account) func(context.Context) (*credentials.Info, error) { return nil }

func (identities) Secret(_ context.Context, a Account, name string) (map[string][]byte, error) {
	if name == "absent" {
		return nil, errors.New("not found")
	}
	if name == "large" {
		return map[string][]byte{"key": make([]byte, 700_000), "other": make([]byte, 700_000)}, nil
	}
	return map[string][]byte{"key": []byte(a.String())}, nil
}
