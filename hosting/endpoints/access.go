package endpoints

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting/apiserver"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/conns"
	"github.com/kopf-wasm/kopf/reactor/rights"
)

// Bounds of reviews.
const (
	decisionTime  = 10 * time.Second // for which a decision is valid
	maxRemembered = 1024
	reviewTimeout = 10 * time.Second
	maxReview     = 1 << 20 // bytes of an answer
	maxToken      = 12 << 10
	clientRate    = 4 // questions per second, of one address
	clientBurst   = 20
	reviewRate    = 20 // of all clients
	reviewBurst   = 40
)

// Access asks the API server who sends a request, and whether the user may make it: by a
// TokenReview, and a SubjectAccessReview of the path as a nonResourceURL. It is safe for
// concurrent use.
type Access struct {
	client *apiserver.Client
	limit  *rate.Limiter // protects the API server

	mu        sync.Mutex // guards the fields below
	decisions map[question]decision
	clients   map[netip.Prefix]*rate.Limiter // protect each other
}

// question is a token and what it would be used for.
type question struct {
	token      [sha256.Size]byte
	verb, path string
}

type decision struct {
	err   error // nil: allowed
	until time.Time
}

// newAccess creates an Access with the credentials of the host, which may create TokenReviews
// and SubjectAccessReviews.
func newAccess(own *rest.Config) (*Access, error) {
	client, err := apiserver.New(own, apiserver.Limits{Time: reviewTimeout, Bytes: maxReview})
	if err != nil {
		return nil, fmt.Errorf("the credentials of the host: %w", err)
	}
	return &Access{client: client, limit: rate.NewLimiter(reviewRate, reviewBurst), decisions: map[question]decision{}, clients: map[netip.Prefix]*rate.Limiter{}}, nil
}

// denial is an error with the status of the answer.
type denial struct {
	code int
	error
}

var errNoToken = errors.New("no token: send the token of a user or of a service account as Authorization: Bearer TOKEN")

// guard lets only requests through whose users may make them.
func (a *Access) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := a.check(r); err != nil {
			code := http.StatusServiceUnavailable
			if refused := (denial{}); errors.As(err, &refused) {
				code = refused.code
			}
			if code == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", `Bearer realm="kopf"`)
			}
			refuse(w, code, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// check returns why a request is refused; nil if it is allowed.
func (a *Access) check(r *http.Request) error {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if token = strings.TrimSpace(token); !ok || token == "" || len(token) > maxToken {
		return denial{http.StatusUnauthorized, errNoToken}
	}
	q := question{sha256.Sum256([]byte(token)), strings.ToLower(r.Method), r.URL.Path}
	if known, ok := a.recall(q); ok {
		return known.err
	}
	if !a.limiterOf(conns.AddressOf(r.RemoteAddr)).Allow() || !a.limit.Allow() {
		return denial{http.StatusTooManyRequests, errors.New("too many requests; try again later")}
	}
	ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
	defer cancel()
	err := a.review(ctx, token, q)
	if refused := (denial{}); err == nil || errors.As(err, &refused) {
		a.remember(q, err)
	}
	return err
}

// limiterOf returns the limiter of an address.
func (a *Access) limiterOf(address netip.Prefix) *rate.Limiter {
	a.mu.Lock()
	defer a.mu.Unlock()
	limiter := a.clients[address]
	if limiter == nil {
		if len(a.clients) >= maxRemembered {
			clear(a.clients)
		}
		limiter = rate.NewLimiter(clientRate, clientBurst)
		a.clients[address] = limiter
	}
	return limiter
}

// recall returns a decision that is still valid.
func (a *Access) recall(q question) (decision, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	d, ok := a.decisions[q]
	return d, ok && time.Now().Before(d.until)
}

func (a *Access) remember(q question, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.decisions) >= maxRemembered { // guessed tokens displace no users
		maps.DeleteFunc(a.decisions, func(_ question, d decision) bool { return d.err != nil || time.Now().After(d.until) })
	}
	if len(a.decisions) >= maxRemembered {
		clear(a.decisions) // the API server is asked again
	}
	a.decisions[q] = decision{err, time.Now().Add(decisionTime)}
}

// user is the sender of a token, in the form of TokenReview.
type user struct {
	Username string              `json:"username"`
	UID      string              `json:"uid,omitempty"`
	Groups   []string            `json:"groups,omitempty"`
	Extra    map[string][]string `json:"extra,omitempty"`
}

func (a *Access) review(ctx context.Context, token string, q question) error {
	u, err := a.userOf(ctx, token)
	if err != nil {
		return err
	}
	path, body, err := rights.Question{
		Subject: &rights.Subject{User: u.Username, UID: u.UID, Groups: u.Groups, Extra: u.Extra},
		Path:    &rights.Path{Verb: q.verb, Path: q.path},
	}.Review()
	if err != nil {
		return err
	}
	var answer rights.Answer
	if err := a.ask(ctx, path, accessReview, body, &answer); err != nil {
		return err
	}
	if !answer.Allowed() {
		return denial{http.StatusForbidden, fmt.Errorf("%s may not %s the nonResourceURL %s: bind the ClusterRole kopf-statusz to the user", u.Username, q.verb, q.path)}
	}
	return nil
}

// userOf asks whose token it is.
func (a *Access) userOf(ctx context.Context, token string) (user, error) {
	const group = "authentication.k8s.io"
	path, err := apipath.Of(apipath.Target{Group: group, Version: "v1", Plural: "tokenreviews"})
	if err != nil {
		return user{}, err
	}
	body, err := json.Marshal(map[string]any{"apiVersion": group + "/v1", "kind": tokenReview.name, "spec": map[string]any{"token": token}})
	if err != nil {
		return user{}, err
	}
	var answer struct {
		Status struct {
			Authenticated bool `json:"authenticated"`
			User          user `json:"user"`
		} `json:"status"`
	}
	if err := a.ask(ctx, path, tokenReview, body, &answer); err != nil {
		return user{}, err
	}
	if !answer.Status.Authenticated || answer.Status.User.Username == "" {
		return user{}, denial{http.StatusUnauthorized, errors.New("the API server does not accept the token")}
	}
	return answer.Status.User, nil
}

// kind is a kind of reviews, as messages name it and its resource.
type kind struct{ name, resource string }

var (
	tokenReview  = kind{"TokenReview", "tokenreviews.authentication.k8s.io"}
	accessReview = kind{"SubjectAccessReview", "subjectaccessreviews.authorization.k8s.io"}
)

// ask creates a review, and reads the answer.
func (a *Access) ask(ctx context.Context, path apipath.Path, k kind, review []byte, answer any) error {
	err := a.client.Do(ctx, http.MethodPost, path, review, answer)
	var refused apierrors.APIStatus
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &refused):
		return fmt.Errorf("the API server cannot be asked: %w", err)
	case refused.Status().Code == http.StatusForbidden:
		return fmt.Errorf("the host may not create %s: apply the manifests of kopf serve --install again", k.resource)
	}
	return fmt.Errorf("the API server answers with the status %d to a %s", refused.Status().Code, k.name)
}

// ownMachine refuses requests that name another machine: a page of another site could
// otherwise make a browser of this machine ask, by a name that leads here.
func ownMachine(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Host
		if host, _, err := net.SplitHostPort(name); err == nil {
			name = host
		}
		if !isLoopback(name) {
			refuse(w, http.StatusForbidden, fmt.Errorf("the name %.100q: use localhost or the loopback address", name))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLoopback reports whether only this machine can reach a host, without asking for its
// address.
func isLoopback(host string) bool {
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && address.Unmap().IsLoopback()
}
