package webhooks_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kopf-wasm/kopf/internal/durations"
	"github.com/kopf-wasm/kopf/webhooks"
	"github.com/kopf-wasm/kopf/webhooks/certificates"
)

func TestParseServer(t *testing.T) {
	all := `{"type":"server","addr":"a","port":1,"path":"p","host":"h","service":{"namespace":"ns","name":"n","port":2},
		"cadata":"ca","cafile":"caf","cadump":"cad","certfile":"c","pkeyfile":"k","password":"pw","extra_sans":["x"],
		"verify_mode":"required","verify_cafile":"vf","verify_capath":"vp","verify_cadata":"vd","file_check_interval":1.5}`
	for _, tt := range []struct {
		name, form string
		want       webhooks.Server
	}{
		{"a string", `"server"`, &webhooks.LocalServer{}},
		{"null options", `{"type":"server","addr":null,"certfile":null,"port":null}`, &webhooks.LocalServer{}},
		{"all options", all, &webhooks.LocalServer{
			Addr: "a", Port: 1, Path: "p", Host: "h", Service: &webhooks.Service{Namespace: "ns", Name: "n", Port: 2},
			CAData: []byte("ca"), CAFile: "caf", CADump: "cad", CertFile: "c", KeyFile: "k", Password: "pw", ExtraSANs: []string{"x"},
			Verify: webhooks.VerifyRequired, VerifyCAFile: "vf", VerifyCAPath: "vp", VerifyCAData: []byte("vd"), FileCheckInterval: 1500 * time.Millisecond,
		}},
		{"the longest interval", `{"type":"server","file_check_interval":1e300}`, &webhooks.LocalServer{FileCheckInterval: durations.Century}},
		{"a secret", `{"type":"server","secret":{"namespace":"ns","name":"n"}}`, &webhooks.LocalServer{Secret: &certificates.SecretRef{Namespace: "ns", Name: "n"}}},
		{"k3d", `"k3d"`, &webhooks.LocalServer{Host: "host.k3d.internal"}},
		{"minikube", `"minikube"`, &webhooks.LocalServer{Host: "host.minikube.internal"}},
		{"docker", `"docker-desktop"`, &webhooks.LocalServer{Host: "host.docker.internal"}},
		{"another host", `{"type":"k3d","host":"h"}`, &webhooks.LocalServer{Host: "h"}},
		{"auto", `"auto-server"`, &webhooks.LocalServer{Detect: true}},
		{"ngrok", `{"type":"ngrok","port":1,"token":"t","region":"r","binary":"b"}`, &webhooks.NgrokTunnel{Port: 1, Token: "t", Region: "r", Binary: "b"}},
		{"auto-tunnel", `{"type":"auto-tunnel","port":1}`, &webhooks.AutoTunnel{Local: webhooks.LocalServer{Port: 1}, Tunnel: webhooks.NgrokTunnel{Port: 1}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := webhooks.ParseServer(json.RawMessage(tt.form), false)
			if err != nil {
				t.Fatal(err)
			}
			ignored := cmpopts.IgnoreUnexported(webhooks.LocalServer{}, webhooks.NgrokTunnel{}, webhooks.AutoTunnel{})
			if diff := cmp.Diff(tt.want, got, ignored); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadServers(t *testing.T) {
	for _, tt := range []struct {
		name, form string
		fromGuest  bool
		want       string
	}{
		{"unknown type", `"servr"`, false, `unknown type "servr" of a server; known are: auto-server, auto-tunnel, docker-desktop, k3d, minikube, ngrok, server`},
		{"no type", `{}`, false, `unknown type ""`},
		{"unknown option", `{"type":"server","prot":1}`, false, `a server of the type "server" has no option "prot"; it has: type, addr, port`},
		{"an option of others", `{"type":"auto-tunnel","token":"x"}`, false, `has no option "token"`},
		{"mistyped", `{"type":"server","port":"1"}`, false, `the option "port" cannot be a string`},
		{"a list", `[]`, false, `[] is neither the type of a server nor an object`},
		{"a bad port", `{"type":"server","port":70000}`, false, `invalid port 70000: must be 0–65535`},
		{"a bad mode", `{"type":"server","verify_mode":"maybe"}`, false, `verify_mode "maybe": want none, optional or required`},
		{"half a service", `{"type":"server","service":{"name":"x"}}`, false, `a service needs a namespace and a name`},
		{"half a secret", `{"type":"server","secret":{"name":"x"}}`, false, `a secret needs a namespace and a name`},
		{"half a pair", `{"type":"server","certfile":"x"}`, false, `certfile and pkeyfile must be set together`},
		{"a bad interval", `{"type":"server","file_check_interval":0}`, false, `file_check_interval: 0 is not positive`},
		{"a file of a guest", `{"type":"server","certfile":"x","pkeyfile":"y"}`, true, `the option "certfile" is of the class host: a guest may not set it`},
		{"a secret of a guest", `{"type":"server","secret":{"namespace":"ns","name":"x"}}`, true, `the option "secret" is of the class host`},
		{"a program of a guest", `"ngrok"`, true, `the type "ngrok" is of the class host: a guest may not choose it`},
		{"the same hidden", `"auto-tunnel"`, true, `the type "auto-tunnel" is of the class host`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := webhooks.ParseServer(json.RawMessage(tt.form), tt.fromGuest)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestLocalHost(t *testing.T) {
	subject := func(name, organization string) *x509.Certificate {
		return &x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: []string{organization}}}
	}
	for _, tt := range []struct {
		name    string
		cert    *x509.Certificate
		version string
		want    string
	}{
		{"another cluster", subject("kube-apiserver", ""), "v1.36.3", ""},
		{"without TLS", nil, "v1.36.3", ""},
		{"k3s by its name", subject("k3s", ""), "", webhooks.K3dHost},
		{"k3s by its organization", subject("x", "k3s"), "", webhooks.K3dHost},
		{"k3s by its issuer", &x509.Certificate{Issuer: pkix.Name{CommonName: "k3s-server-ca@1"}}, "", webhooks.K3dHost},
		{"k3s by its version", subject("x", ""), "v1.30.1+k3s1", webhooks.K3dHost},
		{"minikube by its name", subject("minikube", ""), "", webhooks.MinikubeHost},
		{"minikube by its issuer", &x509.Certificate{Issuer: pkix.Name{CommonName: "minikubeCA"}}, "", webhooks.MinikubeHost},
		{"docker desktop", &x509.Certificate{DNSNames: []string{"x", "docker-for-desktop"}}, "", webhooks.DockerDesktopHost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := webhooks.LocalHost(tt.cert, tt.version); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
