package sources_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/artifacts/oci/sources"
)

func certificate(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// The example file of the reference page of kwctl is read unchanged, in YAML and JSON.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	der, pemFile := certificate(t), filepath.Join(dir, "ca.pem")
	encoded := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for path, content := range map[string][]byte{pemFile: encoded, filepath.Join(dir, "ca.der"): der} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	indented := strings.ReplaceAll(string(encoded), "\n", "\n            ")
	text := fmt.Sprintf(`insecure_sources:
  - "registry-dev.example.com"
  - "registry-dev2.example.com:5500"
source_authorities:
  "registry-pre.example.com":
    - type: Path
      path: %s
    - type: Path
      path: %s
  "registry-pre2.example.com:5500":
    - type: Data
      data: |
            %s
proxies:
  http_proxy: "http://proxy.corp:3128"
  https_proxy: "http://proxy.corp:3129"
  no_proxy: "localhost,.corp"
`, pemFile, filepath.Join(dir, "ca.der"), indented)
	path := filepath.Join(dir, "sources.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sources.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{"registry-dev.example.com": true, "registry-dev2.example.com:5500": true, "registry-dev2.example.com": false, "example.com": false} {
		if s.Insecure(host) != want {
			t.Errorf("%s is insecure: %v", host, !want)
		}
	}
	for host, want := range map[string]int{"registry-pre.example.com": 2, "registry-pre2.example.com:5500": 1, "example.com": 0} {
		if got := len(s.Authorities(host)); got != want {
			t.Errorf("%d authorities of %s, want %d", got, host, want)
		}
	}
	for url, want := range map[string]string{"http://a.com": "http://proxy.corp:3128", "https://a.com": "http://proxy.corp:3129", "https://a.corp": "<nil>"} {
		req, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if proxy, err := s.Proxy()(req); err != nil || fmt.Sprint(proxy) != want {
			t.Errorf("the proxy of %s is %v (%v), want %s", url, proxy, err, want)
		}
	}
	if s, err = sources.Parse([]byte(`{"insecure_sources": ["dev.registry.example.com"]}`)); err != nil || !s.Insecure("dev.registry.example.com") {
		t.Errorf("JSON: %v", err)
	}
}

func TestReadWithoutFile(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	s, err := sources.Read("")
	if err != nil || s.Insecure("localhost") || s.Authorities("localhost") != nil {
		t.Errorf("%v, %v", s, err)
	}
	if s, err = sources.Parse(nil); err != nil || s.Insecure("") {
		t.Errorf("%v, %v", s, err)
	}
	var none *sources.Sources
	if none.Insecure("localhost") || none.Authorities("localhost") != nil || none.Proxy() == nil {
		t.Error("no sources are not as an empty file")
	}
}

func TestBadSources(t *testing.T) {
	huge := filepath.Join(t.TempDir(), "huge")
	if err := os.WriteFile(huge, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, 1<<30); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"insecure: [x]":                          "field insecure not found",
		"insecure_sources: 1":                    "cannot unmarshal",
		"- x":                                    "cannot unmarshal",
		"\t":                                     "cannot start any token",
		"source_authorities: {h: [{type: Url}]}": `of h, certificate 1: type "Url": want Path or Data`,
		"source_authorities: {h: [{type: Data, data: x}]}":                                                                  "neither PEM nor DER",
		"source_authorities: {h: [{type: Path, path: /nowhere}]}":                                                           "/nowhere",
		"source_authorities: {h: [{type: Path, path: " + huge + "}]}":                                                       "too much: the file has more than 4 MiB",
		"source_authorities: {h: [{type: Data, data: \"-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----\"}]}": "x509",
	} {
		if _, err := sources.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
	if _, err := sources.Read(huge); err == nil || !strings.Contains(err.Error(), huge) {
		t.Errorf("error %v", err)
	}
}
