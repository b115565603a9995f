package credentials

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

func rules(t *testing.T) Rules {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, []byte(authority), 0o600); err != nil {
		t.Fatal(err)
	}
	own := Info{
		Config:           &rest.Config{Host: "https://own", BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{CAFile: ca, ServerName: "own"}},
		DefaultNamespace: "ns", Priority: 10,
	}
	return Rules{Own: map[string]Info{"kubeconfig": own}, Base: &own}
}

func parse(t *testing.T, r Rules, text string) Info {
	t.Helper()
	info, err := r.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return info
}

func TestChosenLogins(t *testing.T) {
	got := parse(t, rules(t), `{"login":"kubeconfig"}`)
	if got.Config.BearerToken != "secret" || got.Priority != 10 || got.DefaultNamespace != "ns" || !got.Expiration.IsZero() {
		t.Errorf("got %+v, want the host's own", got)
	}
	got = parse(t, rules(t), `{"login":"kubeconfig","priority":3,"default_namespace":"x","expiration":"2099-12-31T23:59:59"}`)
	if got.Config.BearerToken != "secret" || got.Priority != 3 || got.DefaultNamespace != "x" || got.Expiration != time.Date(2099, 12, 31, 23, 59, 59, 0, time.UTC) {
		t.Errorf("got %+v, want limits", got)
	}
}

// TestDataNeedsNothingOfTheHost checks that the host's server and its authority are used,
// but not its secrets.
func TestDataNeedsNothingOfTheHost(t *testing.T) {
	got := parse(t, rules(t), `{"token":"t","expiration":"2020-01-01T00:00:00+02:00","ca_path":null,"trust_env":false}`)
	c := got.Config
	if c.Host != "https://own" || c.CAFile == "" || c.ServerName != "own" || c.BearerToken != "t" || got.Authorization != "" || got.DefaultNamespace != "ns" {
		t.Errorf("got %+v", got)
	}
	if got.Expiration.UTC().Hour() != 22 {
		t.Errorf("expiration %v, want it by its zone", got.Expiration)
	}
	headers := map[string]string{
		`{"scheme":"Digest","token":"t"}`:                         "Digest t",
		`{"scheme":"Negotiate"}`:                                  "Negotiate",
		`{"username":"u","password":"p","scheme":"X"}`:            "",
		`{"username":"u","scheme":"X","token":"t","priority":-1}`: "X t",
	}
	for text, want := range headers {
		if got := parse(t, rules(t), text); got.Authorization != want || want != "" && got.Config.BearerToken != "" {
			t.Errorf("%s: the header is %q, want %q", text, got.Authorization, want)
		}
	}
	if c := parse(t, rules(t), `{"username":"u","password":"p","token":"t"}`).Config; c.Username != "u" || c.Password != "p" || c.BearerToken != "" {
		t.Errorf("got %+v, want the password", c)
	}
}

func TestServersNeedToBeAllowed(t *testing.T) {
	r := rules(t)
	r.AllowServer, r.AllowProxy = true, true
	c := parse(t, r, `{"server":"https://other","proxy_url":"http://proxy","token":"t"}`).Config
	if c.Host != "https://other" || c.CAFile != "" || c.Proxy == nil {
		t.Errorf("got %+v, want another server and nothing of the host", c)
	}
	if c := parse(t, r, `{"insecure":true,"ca_data":"-----BEGIN x","token":"t"}`).Config; !c.Insecure || c.CAFile != "" || c.CAData != nil {
		t.Errorf("got %+v, want no verification", c)
	}
}

func TestBadResultsOfLoginHandlers(t *testing.T) {
	tests := []struct{ name, result, want string }{
		{"not an object", `"x"`, `want an object like ConnectionInfo, not "x"`},
		{"unknown field", `{"tokn":"t"}`, `unknown field "tokn"`},
		{"wrong type", `{"token":5}`, "token"},
		{"a path", `{"ca_path":"/etc/ca"}`, "ca_path is a field of the class host"},
		{"another path", `{"private_key_path":"/etc/key","token":"x"}`, "private_key_path is a field of the class host"},
		{"the environment", `{"trust_env":true}`, "trust_env is a field of the class host"},
		{"server", `{"server":"https://evil"}`, "server is a field of the class grant: it needs --allow-server"},
		{"no verification", `{"insecure":true,"token":"t"}`, "insecure is a field of the class grant: it needs --allow-server"},
		{"authorities", `{"ca_data":"-----BEGIN x","token":"t"}`, "ca_data is a field of the class grant: it needs --allow-server"},
		{"proxy", `{"proxy_url":"http://evil"}`, "proxy_url is a field of the class grant"},
		{"certificate alone", `{"certificate_data":"-----BEGIN x"}`, "certificate_data and private_key_data belong together"},
		{"no certificate", `{"certificate_data":"-----BEGIN x","private_key_data":"-----BEGIN y"}`, "tls"},
		{"not base64", `{"ca_data":"???"}`, "certificates and keys are PEM, or PEM in base64"},
		{"unknown login", `{"login":"root"}`, `the host has no login "root"`},
		{"more than limits", `{"login":"kubeconfig","token":"t"}`, "can be limited by priority, expiration and default_namespace only"},
		{"impersonation", `{"login":"kubeconfig","username":"root"}`, "can be limited by"},
		{"a token of a file", `{"token":"t0ken\n"}`, "token: it has a line break, as most files have at their end: remove it"},
		{"no time", `{"expiration":"soon"}`, `expiration: "soon" is not a time like`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := rules(t).Parse([]byte(test.result)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	if _, err := (Rules{}).Parse([]byte(`{"token":"t"}`)); err == nil || !strings.Contains(err.Error(), "server is required") {
		t.Errorf("without a host: %v", err)
	}
}

func TestCertificatesComeAsPEMOrBase64(t *testing.T) {
	const text = "-----BEGIN CERTIFICATE-----\n"
	for _, form := range []string{text, base64.StdEncoding.EncodeToString([]byte(text))} {
		var got pem
		if err := got.UnmarshalJSON([]byte(`"` + strings.ReplaceAll(form, "\n", `\n`) + `"`)); err != nil || string(got) != text {
			t.Errorf("%q: %q, %v", form, got, err)
		}
	}
}

// authority is a self-signed certificate for tests.
const authority = `-----BEGIN CERTIFICATE-----
MIIBdjCCARugAwIBAgIUDXgCCpakwZfDXt5M+sneAxliy1kwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjExNTA0MjFaGA8yMTI2MTAyODE1MDQy
MVowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIYV
GogHZIG1r79VXhGc48DLWwW0i/EfU8pRuUVfbBE+gUSPOfDFaYYtkQZMeD2atKk7
OWAH9Tmz7iavTQDQuc2jUzBRMB0GA1UdDgQWBBSW4Sj83n/nJ7xDM6KPrpa68WNN
3jAfBgNVHSMEGDAWgBSW4Sj83n/nJ7xDM6KPrpa68WNN3jAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0kAMEYCIQC2nRFesudfOqwVLXfEROwGJH5AGGVL1h7t
EKY1xIS4gQIhAPTPCH9OipRYAWrNCtsYDbO5yDw2c2ct6AKaOhzwGHEV
-----END CERTIFICATE-----
`
