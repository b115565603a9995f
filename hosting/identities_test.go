package hosting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/operator"
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

// crowd are identities that count how many secrets are read at the same time.
type crowd struct {
	identities

	mu            sync.Mutex // guards all below
	present, most int
}

func (c *crowd) Secret(ctx context.Context, a Account, name string) (map[string][]byte, error) {
	c.count(1)
	defer c.count(-1)
	time.Sleep(time.Second)
	return c.identities.Secret(ctx, a, name)
}

func (c *crowd) count(more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.present += more
	c.most = max(c.most, c.present)
}

// TestNamespacesReadFewSecretsAtATime: those of many declarations would use up what the API server lets the host ask.
func TestNamespacesReadFewSecretsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, c := hosted(t, operator.Options{}), &crowd{}
		x.options.Identities = c
		for i := range 20 {
			x.Declare(Declaration{Key: key(fmt.Sprint("o", i)), UID: "u", Generation: 1, Spec: api.Spec{
				Module: "v1", ServiceAccountName: "sa", Grants: &api.Grants{Secrets: map[string]api.SecretKey{"k": {Name: "s", Key: "key"}}},
			}})
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.most != readers/2 || len(x.all()) != 20 {
			t.Errorf("%d secrets were read at the same time; %d operators run", c.most, len(x.all()))
		}
	})
}
