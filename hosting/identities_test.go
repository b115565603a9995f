package hosting

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/kopf-wasm/kopf/hosting/api"
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
	if name == "pull" {
		return map[string][]byte{".dockerconfigjson": make([]byte, 100_000), "other": make([]byte, 900_000)}, nil
	}
	return map[string][]byte{"key": []byte(a.String())}, nil
}

// TestPullSecretsAreBounded: declarations that wait for their turn keep them. Ten secrets of each took ten megabytes, in no account.
func TestPullSecretsAreBounded(t *testing.T) {
	for count, good := range map[int]bool{2: true, 3: false} {
		d := &Declaration{Key: key("a"), Spec: api.Spec{PullSecrets: slices.Repeat([]string{"pull"}, count)}}
		secrets, err := readPullSecrets(t.Context(), identities{}, d)
		size := 0
		for _, secret := range secrets {
			for _, value := range secret {
				size += len(value)
			}
		}
		refusal := (*Refusal)(nil)
		if good && (err != nil || size != count*100_000) || !good && (!errors.As(err, &refusal) || refusal.Reason != "PullSecretInvalid") {
			t.Errorf("%d secrets: %d bytes, %v", count, size, err)
		}
	}
}
