package calls

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
)

// TestRedirectsNeedGrants: a granted server attacks, by redirects to what is not granted: the machine, its
// cloud, other servers, other schemes and ports. No request arrives there, and the error says what was not granted.
// Redirects with and without the body, at the first and at the second hop.
func TestRedirectsNeedGrants(t *testing.T) {
	secret := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the request %s arrived", r.URL) }))
	defer secret.Close()
	_, port, err := net.SplitHostPort(secret.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var status int
	var target string
	granted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hop" {
			w.Header().Set("Location", "/")
		} else {
			w.Header()["Location"] = []string{target}
		}
		w.WriteHeader(status)
	}))
	defer granted.Close()
	c := caller(t, Options{Grants: grantsOf(t, granted.URL, "http://*.granted.test:"+port)})
	for _, target = range []string{
		secret.URL, "http://localhost:" + port, "http://[::1]:" + port, "http://127.1:" + port, "http://2130706433:" + port, "//127.0.0.1:" + port,
		"http://[::ffff:127.0.0.1]:" + port, "http://0.0.0.0:" + port, "http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://metadata.google.internal/",
		"https://other.test/", "https://kubernetes.default.svc/api/v1/secrets", strings.Replace(granted.URL, "http:", "https:", 1), strings.TrimSuffix(granted.URL, portOf(t, granted.URL)) + port,
		strings.Replace(granted.URL, "http://", "http://user:password@", 1), "file:///etc/passwd", "gopher://127.0.0.1:" + port, "http://localhost.granted.test.:" + port + "@" + secret.Listener.Addr().String(),
		"http://a.granted.test:" + port + "@127.0.0.1:" + port,
	} {
		for _, status = range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
			for _, path := range []string{"/", "/hop"} {
				t.Run(strconv.Itoa(status)+" "+path+" to "+target, func(t *testing.T) {
					call := &abi.Call{Target: abi.TargetHTTP, Method: "POST", Path: granted.URL + path, Body: abi.Raw(`"body"`), Headers: map[string][]string{"Authorization": {"token"}}}
					answer := c.Call(t.Context(), call, "", nil)
					if answer.Response != nil || codeOf(answer) != abi.CallNotGranted && codeOf(answer) != abi.CallInvalid {
						t.Errorf("got %+v, %+v", answer.Response, answer.Error)
					}
				})
			}
		}
	}
}

// TestRedirectsToNamesOfTheMachineAreRefused: a pattern grants the name, and its address is the machine.
func TestRedirectsToNamesOfTheMachineAreRefused(t *testing.T) {
	var seen []http.Header
	secret, _ := hop(t, &seen)
	first, redirects := hop(t, &seen)
	redirects["/"] = "http://localhost:" + portOf(t, secret.URL)
	c := caller(t, Options{Grants: grantsOf(t, first.URL, "http://*:"+portOf(t, secret.URL))})
	if answer := c.Call(t.Context(), get(first.URL+"/"), "", nil); codeOf(answer) != abi.CallNotGranted || len(seen) != 1 {
		t.Errorf("got %+v after %d requests", answer.Error, len(seen))
	}
}

func portOf(t *testing.T, url string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return port
}
