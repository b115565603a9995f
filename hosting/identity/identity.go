// Package identity makes the requests of hosted operators as their service accounts: with
// tokens that the host requests for each account, or by impersonation. Operators share
// connections, and never the credentials of the host.
package identity

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/apiserver"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// Mode is how the host becomes a service account.
type Mode string

// The modes.
const (
	Token       Mode = "token"       // by a bound token of the account: the host may create serviceaccounts/token
	Impersonate Mode = "impersonate" // by the host's own credentials and a header: the host may impersonate serviceaccounts
)

// Modes lists the modes.
func Modes() []Mode { return []Mode{Token, Impersonate} }

// Times of tokens and requests.
const (
	lifetime       = time.Hour // the API server may shorten it
	share          = 0.8       // of its life after which a token is replaced
	requestTimeout = 30 * time.Second
	firstPause     = time.Second
	lastPause      = time.Minute
	dialTimeout    = 30 * time.Second // as client-go's
	keepAlive      = 30 * time.Second
)

// limits are those of each request. A secret has at most 1 MiB.
var limits = apiserver.Limits{Time: requestTimeout, Bytes: 4 << 20}

// Identities make requests as service accounts of one cluster. It is safe for concurrent
// use.
//
// # Guarantees
//
//   - In the mode Token, no connection that operators use has a credential of the host, such
//     as its client certificate.
//   - In the mode Impersonate, each request of an operator names its account.
//   - All operators share the connections.
type Identities struct {
	mode   Mode
	config *rest.Config      // of the operators, without their identities
	shared http.RoundTripper // their connections
	host   *apiserver.Client // of the host itself, to request tokens
}

var _ hosting.Identities = (*Identities)(nil)

// New creates identities from the credentials of the host.
//
// Errors: the mode is unknown, or the credentials are invalid.
func New(own *rest.Config, mode Mode) (*Identities, error) {
	if !slices.Contains(Modes(), mode) {
		return nil, fmt.Errorf("unknown identity %q: want %s or %s", mode, Token, Impersonate)
	}
	client, err := apiserver.New(own, limits)
	if err != nil {
		return nil, fmt.Errorf("the credentials of the host: %w", err)
	}
	config := rest.AnonymousClientConfig(own)
	if mode == Impersonate {
		config = rest.CopyConfig(own)
		config.Impersonate = rest.ImpersonationConfig{}
	}
	config.Timeout, config.QPS = 0, -1
	if config.Dial == nil { // one of its own makes the connections those of operators only: see narrow
		config.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext
	}
	i := &Identities{mode: mode, host: client}
	if i.shared, err = rest.TransportFor(config); err != nil {
		return nil, fmt.Errorf("the credentials of the host: %w", err)
	}
	narrow(i.shared)
	// The shared transport has verified servers and, by impersonation, logged in. The
	// configuration of an operator adds its identity, and nothing else.
	i.config = &rest.Config{Host: client.Base(), Transport: i.shared, QPS: -1}
	return i, nil
}

// readAhead is how much a connection reads of a response before the operator does, in bytes. The default of HTTP/2 is 4 MiB, for each of
// hundreds of watches whose operators may be as slow as they like.
const readAhead = 512 << 10

// narrow bounds what the connections of a transport read ahead. It must be called before the first request.
func narrow(transport http.RoundTripper) {
	for {
		switch t := transport.(type) {
		case *http.Transport:
			t.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: readAhead}
			return
		case utilnet.RoundTripperWrapper:
			transport = t.WrappedRoundTripper()
		default:
			return
		}
	}
}

// Login returns a login as an account.
//
// Errors of the login: *hosting.Refusal, if the account does not exist or the host may not
// use it. While the API server cannot be reached, the login waits.
func (i *Identities) Login(a hosting.Account) func(ctx context.Context) (*credentials.Info, error) {
	return func(ctx context.Context) (*credentials.Info, error) { return i.as(ctx, a) }
}

// as returns the credentials of an account.
func (i *Identities) as(ctx context.Context, a hosting.Account) (*credentials.Info, error) {
	if a.Namespace == "" || a.Name == "" {
		return nil, fmt.Errorf("the account %q is incomplete", a)
	}
	config := rest.CopyConfig(i.config)
	info := &credentials.Info{Config: config, DefaultNamespace: a.Namespace}
	if i.mode == Impersonate {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return impersonator{next, a.String()} })
		return info, i.retried(ctx, func() error { return i.exists(ctx, a) })
	}
	return info, i.retried(ctx, func() error {
		began := time.Now()
		token, err := i.token(ctx, a)
		if err != nil {
			return err
		}
		config.BearerToken = token.Status.Token
		left := token.Status.ExpirationTimestamp.Sub(began)
		if seconds := token.Spec.Seconds; seconds > 0 { // as the API server has decided, whatever its clock says
			left = time.Duration(min(seconds, int64(lifetime/time.Second))) * time.Second
		}
		info.Expiration = began.Add(time.Duration(share * float64(left)))
		return nil
	})
}

// retried repeats a request while the API server cannot be reached or is overloaded.
func (i *Identities) retried(ctx context.Context, request func() error) error {
	for pauses := (backoffs.Doubling{First: firstPause, Most: lastPause}); ; {
		err := request()
		if err == nil || !isTransient(err) {
			return err
		}
		if ended := backoffs.Pause(ctx, pauses.Next()); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

func isTransient(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		var network *url.Error
		return errors.As(err, &network) && !errors.Is(err, context.Canceled)
	}
	code := status.Status().Code
	return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
}

// tokenRequest is authentication.k8s.io/v1 TokenRequest.
type tokenRequest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Seconds int64 `json:"expirationSeconds"`
	} `json:"spec"`
	Status struct {
		Token               string      `json:"token"`
		ExpirationTimestamp metav1.Time `json:"expirationTimestamp"`
	} `json:"status,omitzero"`
}

// token requests a token of an account.
func (i *Identities) token(ctx context.Context, a hosting.Account) (*tokenRequest, error) {
	asked := &tokenRequest{APIVersion: "authentication.k8s.io/v1", Kind: "TokenRequest"}
	asked.Spec.Seconds = int64(lifetime / time.Second)
	body, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	answer := &tokenRequest{}
	target := apipath.Target{Version: "v1", Namespace: a.Namespace, Plural: "serviceaccounts", Name: a.Name, Subresource: "token"}
	if err := request(ctx, i.host, http.MethodPost, target, body, answer); err != nil {
		return nil, accountRefusal(a, "serviceaccounts/token: create", err)
	}
	if owner := subject(answer.Status.Token); owner != a.String() {
		return nil, fmt.Errorf("the API server has sent a token of %q for %s", owner, a)
	}
	return answer, nil
}

// subject returns the user that a token names, without a check of its signature; empty if it
// cannot be read.
func subject(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Subject string `json:"sub"`
	}
	if err != nil || json.Unmarshal(text, &claims) != nil {
		return ""
	}
	return claims.Subject
}

// impersonator sets the user of each request. Unlike the one of client-go, it replaces what
// the request already says.
type impersonator struct {
	http.RoundTripper
	user string
}

func (i impersonator) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name := range r.Header {
		if strings.HasPrefix(strings.ToLower(name), "impersonate-") {
			delete(r.Header, name)
		}
	}
	r.Header.Set("Impersonate-User", i.user)
	return i.RoundTripper.RoundTrip(r)
}

// CloseIdleConnections does nothing: other operators use the connections.
func (impersonator) CloseIdleConnections() {}

// exists checks that there is an account, as this account: the API server impersonates
// accounts that do not exist, too.
func (i *Identities) exists(ctx context.Context, a hosting.Account) error {
	target := apipath.Target{Version: "v1", Namespace: a.Namespace, Plural: "serviceaccounts", Name: a.Name}
	return accountRefusal(a, "serviceaccounts: impersonate and get", request(ctx, i.host, http.MethodGet, target, nil, &struct{}{}))
}

// accountRefusal explains why an account cannot be used.
func accountRefusal(a hosting.Account, needed string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return &hosting.Refusal{Condition: api.Ready, Reason: "ServiceAccountMissing", Err: fmt.Errorf("the service account %s/%s does not exist: %w", a.Namespace, a.Name, err)}
	case apierrors.IsForbidden(err):
		return &hosting.Refusal{Condition: api.Ready, Reason: "HostForbidden", Err: fmt.Errorf("the host may not use the service account %s/%s; it needs %s: %w", a.Namespace, a.Name, needed, err)}
	}
	return fmt.Errorf("the service account %s/%s: %w", a.Namespace, a.Name, err)
}

// Secret reads a secret of the account's namespace, as this account.
func (i *Identities) Secret(ctx context.Context, a hosting.Account, name string) (map[string][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	info, err := i.as(ctx, a)
	if err != nil {
		return nil, err
	}
	client, err := apiserver.New(info.Config, limits)
	if err != nil {
		return nil, err
	}
	var secret struct {
		Data map[string][]byte `json:"data"`
	}
	target := apipath.Target{Version: "v1", Namespace: a.Namespace, Plural: "secrets", Name: name}
	if err := request(ctx, client, http.MethodGet, target, nil, &secret); err != nil {
		return nil, fmt.Errorf("the secret %s, which is read as %s: %w", name, a, err)
	}
	return secret.Data, nil
}

// request makes one request. Errors of the API server are *errors.StatusError.
func request(ctx context.Context, by *apiserver.Client, method string, target apipath.Target, body []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	path, err := apipath.Of(target)
	if err != nil {
		return err
	}
	return by.Do(ctx, method, path, body, into)
}
