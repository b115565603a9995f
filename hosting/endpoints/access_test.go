package endpoints

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"
)

// reviewer is an API server that knows the tokens "viewer", who may get /statusz, and
// "stranger".
func reviewer(t *testing.T) (*Access, *atomic.Int64) {
	t.Helper()
	var reviews atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reviews.Add(1)
		if r.Header.Get("Authorization") != "Bearer host" {
			t.Errorf("a review with the credentials %q", r.Header.Get("Authorization"))
		}
		var body struct {
			Kind string
			Spec struct {
				Token, User           string
				Groups                []string
				NonResourceAttributes struct{ Path, Verb string }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		status := map[string]any{}
		switch body.Kind + " " + r.URL.Path {
		case "TokenReview /apis/authentication.k8s.io/v1/tokenreviews":
			switch body.Spec.Token {
			case "viewer", "stranger":
				status = map[string]any{"authenticated": true, "user": map[string]any{"username": body.Spec.Token, "groups": []string{"g"}}}
			case "broken":
				w.WriteHeader(http.StatusInternalServerError)
			}
		case "SubjectAccessReview /apis/authorization.k8s.io/v1/subjectaccessreviews":
			at := body.Spec.NonResourceAttributes
			status["allowed"] = body.Spec.User == "viewer" && len(body.Spec.Groups) == 1 && at.Verb == "get" && at.Path == "/statusz"
		default:
			t.Errorf("%s %s", body.Kind, r.URL.Path)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"status": status})
	}))
	t.Cleanup(server.Close)
	access, err := newAccess(&rest.Config{Host: server.URL, BearerToken: "host"})
	if err != nil {
		t.Fatal(err)
	}
	return access, &reviews
}

// TestAccess: only users with the right get an answer, and only to what the right is for.
func TestAccess(t *testing.T) {
	access, _ := reviewer(t)
	h := New(newSource(), "v1").Handler(access)
	tests := []struct {
		method, path, header string
		code                 int
		says                 string
	}{
		{"GET", "/statusz", "Bearer viewer", 200, `"schema"`},
		{"GET", "/statusz?q=x", "Bearer viewer", 200, `"schema"`},
		{"GET", "/statusz", "", 401, "send the token"},
		{"GET", "/statusz", "Basic dmlld2VyOg==", 401, "send the token"},
		{"GET", "/statusz", "Bearer ", 401, "send the token"},
		{"GET", "/statusz", "Bearer " + strings.Repeat("x", maxToken+1), 401, "send the token"},
		{"GET", "/statusz", "Bearer forged", 401, "does not accept the token"},
		{"GET", "/statusz", "Bearer stranger", 403, "stranger may not get the nonResourceURL /statusz: bind the ClusterRole kopf-statusz"},
		{"GET", "/metrics", "Bearer viewer", 403, "may not get the nonResourceURL /metrics"},
		{"GET", "/wasmoperators/team/mailer/logs", "Bearer viewer", 403, "/wasmoperators/team/mailer/logs"},
		{"POST", "/wasmoperators/team/mailer/retry", "Bearer viewer", 403, "may not post"},
		{"POST", "/statusz", "Bearer viewer", 403, "may not post"},
		{"GET", "/statusz/../metrics", "Bearer viewer", 307, ""}, // to /metrics
		{"GET", "/absent", "", 401, "send the token"},
		{"GET", "/statusz", "Bearer broken", 503, "the status 500"},
	}
	for _, tt := range tests {
		answer, text := ask(t, h, tt.method, tt.path, "Authorization", tt.header)
		if answer.StatusCode != tt.code || !strings.Contains(text, tt.says) {
			t.Errorf("%s %s as %.20s: %d %s; want %d %s", tt.method, tt.path, tt.header, answer.StatusCode, text, tt.code, tt.says)
		}
		if challenge := answer.Header.Get("WWW-Authenticate"); (answer.StatusCode == 401) != (challenge != "") {
			t.Errorf("%s: challenge %q", tt.path, challenge)
		}
	}
}

// TestFewReviews: decisions are remembered, failures of the API server are not, and a flood
// of tokens does not become a flood of reviews.
func TestFewReviews(t *testing.T) {
	access, reviews := reviewer(t)
	h := New(newSource(), "v1").Handler(access)
	access.limit.SetLimit(0)
	access.limit.SetBurst(4)
	for range 5 {
		ask(t, h, "GET", "/statusz", "Authorization", "Bearer viewer")
		ask(t, h, "GET", "/statusz", "Authorization", "Bearer forged")
	}
	if got := reviews.Load(); got != 3 {
		t.Errorf("%d reviews of two tokens", got)
	}
	for range 5 {
		ask(t, h, "GET", "/statusz", "Authorization", "Bearer broken")
	}
	if got := reviews.Load(); got != 5 {
		t.Errorf("%d reviews, want 5: a failure is not remembered, and the rate is limited", got)
	}
	if answer, _ := ask(t, h, "GET", "/statusz", "Authorization", "Bearer another"); answer.StatusCode != http.StatusTooManyRequests {
		t.Errorf("beyond the rate: %d", answer.StatusCode)
	}
	for i := range access.decisions {
		access.decisions[i] = decision{nil, time.Now().Add(-time.Second)}
	}
	if answer, _ := ask(t, h, "GET", "/statusz", "Authorization", "Bearer forged"); answer.StatusCode != http.StatusTooManyRequests {
		t.Errorf("an old decision is used: %d", answer.StatusCode)
	}
}

// TestGuessesLockOutNobody: who guesses tokens uses up the questions of an address, and displaces no decisions about users.
func TestGuessesLockOutNobody(t *testing.T) {
	access, _ := reviewer(t)
	from := func(address, token string) int {
		r := httptest.NewRequest("GET", "/statusz", nil)
		r.RemoteAddr = address
		r.Header.Set("Authorization", "Bearer "+token)
		var refused denial
		if err := access.check(r); errors.As(err, &refused) {
			return refused.code
		} else if err != nil {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	}
	limited := 0
	for i := range 50 {
		if from("10.0.0.1:5", fmt.Sprint("guess", i)) == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited < 20 {
		t.Errorf("%d guesses were limited", limited)
	}
	if code := from("10.0.0.2:5", "viewer"); code != http.StatusOK {
		t.Errorf("a user with another address: %d", code)
	}
	for i := range maxRemembered {
		access.remember(question{path: fmt.Sprint(i)}, errNoToken)
	}
	if _, ok := access.recall(question{sha256.Sum256([]byte("viewer")), "get", "/statusz"}); !ok {
		t.Error("the decision about the user is gone")
	}
}

// TestOtherAddressesAreSecured: an address that other machines can reach has HTTPS, and asks
// for a token; a loopback address has neither.
func TestOtherAddressesAreSecured(t *testing.T) {
	for address, want := range map[string]struct {
		scheme string
		code   int
	}{"127.0.0.1:0": {"http", 200}, "localhost:0": {"http", 200}, "0.0.0.0:0": {"https", 401}, ":0": {"https", 401}} {
		var log bytes.Buffer
		servers, err := Serve(t.Context(), newSource(), Options{Addresses: []string{address}, Config: &rest.Config{Host: "http://127.0.0.1:1"}, Log: zerolog.New(&log)})
		if err != nil {
			t.Fatal(err)
		}
		if says := "The status page is served at " + servers.Addresses()[0] + "."; !strings.Contains(log.String(), says) { // formats of text show no fields
			t.Errorf("%s: the log lacks %q: %s", address, says, log.String())
		}
		client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}} //nolint:gosec // a test
		_, port, _ := strings.Cut(servers.Addresses()[0], "]:")
		if port == "" {
			_, port, _ = strings.Cut(servers.Addresses()[0], ":")
		}
		answer, err := client.Get(want.scheme + "://127.0.0.1:" + port + "/statusz")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want.code {
			t.Errorf("%s: %d, want %d", address, answer.StatusCode, want.code)
		}
		servers.Close()
	}
	for _, address := range []string{"8080", "127.0.0.1:99999", "[::"} {
		if _, err := Serve(t.Context(), newSource(), Options{Addresses: []string{address}, Config: &rest.Config{Host: "http://127.0.0.1:1"}, Log: zerolog.Nop()}); err == nil || !strings.Contains(err.Error(), "--listen "+address) {
			t.Errorf("%s: %v", address, err)
		}
	}
	_, err := Serve(t.Context(), newSource(), Options{Addresses: []string{":0"}, Certificate: "absent", Key: "absent", Config: &rest.Config{Host: "http://127.0.0.1:1"}, Log: zerolog.Nop()})
	if err == nil || !strings.Contains(err.Error(), "the certificate: open absent") {
		t.Errorf("a certificate that is missing: %v", err)
	}
}
