package calls

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
)

// TestHostsAreCheckedAsTheyAreResolved: some letters are those of a granted name in lower case, but those of another name in
// Punycode: its owner would get the requests.
func TestHostsAreCheckedAsTheyAreResolved(t *testing.T) {
	c := caller(t, Options{Grants: grantsOf(t, "https://github.com", "http://github.com", "*.example.com")})
	for _, url := range []string{
		"https://gİthub.com/", "http://GİTHUB.com/", "https://g%C4%B0thub.com/", "https://\u212Aub.example.com/", "https://a.example\u3002com/",
		"https://github\uFF0Ecom/", "https://gi\u00adthub.com/", "https://a.ex\u200bample.com", "https://x.exampİe.com", "https://a.exam\xffple.com",
	} {
		if answer := c.Call(t.Context(), get(url), "", nil); codeOf(answer) != abi.CallInvalid {
			t.Errorf("%q: %+v", url, answer.Error)
		}
	}
}

// TestNumbersAreNoNames: resolvers of systems take some names for addresses, which need a grant as such; hosted operators get none.
func TestNumbersAreNoNames(t *testing.T) {
	for _, text := range []string{"127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.0.0.0x1", "10.1", "1.2.3.4.5", "0x", "example.0x1F", "127.0.0.1.", "[::1]", "1.example.com", "0xde.example", "a1", "3com.de"} {
		host, err := ParseHost(text)
		if number := !strings.ContainsAny(text, "[el") && text != "127.0.0.1." && text != "a1" || text == "example.0x1F"; number != (err != nil) {
			t.Errorf("%q: %+v, %v", text, host, err)
		}
	}
}

// TestOnlyGrantedNamesAreResolved: whatever the spelling of a URL was, no other name is resolved.
func TestOnlyGrantedNamesAreResolved(t *testing.T) {
	dial := caller(t, Options{Grants: grantsOf(t, "https://github.com", "*.example.com", "[0:0::1]:8080")}).web.Transport.(redirected).RoundTripper.(compressed).RoundTripper.(*http.Transport).DialContext
	for _, address := range []string{"xn--gthub-n4a.com:443", "github.com:80", "github.com.evil.test:443", "example.com:443", "[::2]:8080", "[::1]:443"} {
		if conn, err := dial(t.Context(), "tcp", address); err == nil || !strings.Contains(err.Error(), "not granted to reach") {
			t.Errorf("%s: %v, %v", address, conn, err)
		}
	}
	if _, err := dial(t.Context(), "tcp", "[0:0::1]:8080"); err == nil || strings.Contains(err.Error(), "not granted") {
		t.Errorf("a granted address: %v", err) // nothing listens
	}
}

// TestGrantsSayWhatTheyGive: a grant with a part that means nothing, or another thing than where else it is used, is refused.
func TestGrantsSayWhatTheyGive(t *testing.T) {
	for _, text := range []string{
		"get:secrets:*,!kube-system", "get:secrets:!kube-system", "get:secrets:[!a]*", "get:secrets:a b", "get:secrets: a", "get:secrets:A", "get:secrets:a.b", `get:secrets:\*`,
		"get:pods/", "get:pods.", "get:*/", "get:*.", "get:*./log", "get:pods./log", "get:pods/*", "get:pods/log/x", "get:Pods", "get:po*", "get:pods.*.io", "get: pods", "get:pods.apps.",
		"get:pods.x;id", "get:pods'", "get:pods.$(id)", "get:pods.\u202eapps", "get:pods\n",
	} {
		if rule, err := ParseRule(text); err == nil {
			t.Errorf("%q is the rule %+v", text, rule)
		}
	}
	for _, text := range []string{"*.", "*..", "**", "*.*", "a.*", "*a.test", "*.a..test", ".a.test", "a..test", "*..test", "a..", "https://*.:443"} {
		if host, err := ParseHost(text); err == nil {
			t.Errorf("%q is the host %+v", text, host)
		}
	}
}

// TestWantedGrantsAreShownAsTheyAre: administrators copy the flags for what a module wants into a shell. So what it declares can be
// neither a command, nor look like another grant.
func TestWantedGrantsAreShownAsTheyAre(t *testing.T) {
	for _, rule := range []abi.KubernetesRule{
		{Groups: []string{"x;id"}, Resources: []string{"pods"}},
		{Groups: []string{"$(id)"}, Resources: []string{"pods"}},
		{Groups: []string{""}, Resources: []string{"*';id;'"}},
		{Groups: []string{""}, Resources: []string{"pods/`id`"}},
		{Groups: []string{""}, Resources: []string{"pods:default"}},
		{Groups: []string{""}, Resources: []string{"pods,secrets"}},
		{Groups: []string{""}, Resources: []string{"deployments.apps"}},
		{Groups: []string{""}, Resources: []string{"pods/"}},
		{Groups: []string{""}, Resources: []string{"pods"}, Namespaces: []string{"a,*"}},
		{Groups: []string{""}, Resources: []string{"pods"}, Namespaces: []string{"a;id"}},
	} {
		rule.Verbs = []string{"get"}
		if g, err := Wanted(&abi.Capabilities{Kubernetes: []abi.KubernetesRule{rule}}); err == nil {
			t.Errorf("%+v is shown as %q", rule, g.Flags())
		}
	}
}
