// Package sources reads sources.yaml. It names the registries that may be reached without
// TLS, the trusted certificates, and the proxies. The format is that of Kubewarden's kwctl,
// whose file works unchanged.
//
// See https://docs.kubewarden.io/reference/sources_yaml
package sources

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/net/http/httpproxy"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedyaml"
)

// Sources configure the access to registries. The zero value and nil stand for an empty
// file: TLS with the certificates of the system, and proxies from the environment.
type Sources struct {
	insecure    []string
	authorities map[string][]*x509.Certificate
	proxies     *httpproxy.Config
}

// file is the YAML document.
type file struct {
	Insecure    []string                 `yaml:"insecure_sources"`
	Authorities map[string][]certificate `yaml:"source_authorities"`
	Proxies     *struct {
		HTTP  string `yaml:"http_proxy"`
		HTTPS string `yaml:"https_proxy"`
		No    string `yaml:"no_proxy"`
	} `yaml:"proxies"`
}

type certificate struct {
	Type string `yaml:"type"` // Path or Data
	Path string `yaml:"path"`
	Data string `yaml:"data"`
}

// maxFile bounds sources.yaml and each certificate file, in bytes.
const maxFile = 4 << 20

// DefaultPath is kopf/sources.yaml in the user's configuration directory, or empty without
// such a directory.
func DefaultPath() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "kopf", "sources.yaml")
}

// Read reads the file at the path. If the path is empty, it reads the default file, which
// may be missing.
func Read(path string) (*Sources, error) {
	chosen := path != ""
	if !chosen {
		if path = DefaultPath(); path == "" {
			return &Sources{}, nil
		}
	}
	data, err := boundedfile.Read(path, maxFile)
	switch {
	case !chosen && errors.Is(err, fs.ErrNotExist):
		return &Sources{}, nil
	case err != nil:
		return nil, err
	}
	s, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Parse parses the document, and reads the certificates. It refuses unknown keys.
func Parse(data []byte) (*Sources, error) {
	var f file
	if err := boundedyaml.Decode(data, &f); err != nil {
		return nil, err
	}
	s := &Sources{insecure: f.Insecure, authorities: map[string][]*x509.Certificate{}}
	for host, list := range f.Authorities {
		for i, c := range list {
			found, err := c.read()
			if err != nil {
				return nil, fmt.Errorf("source_authorities of %s, certificate %d: %w", host, i+1, err)
			}
			s.authorities[host] = append(s.authorities[host], found...)
		}
	}
	if p := f.Proxies; p != nil {
		s.proxies = &httpproxy.Config{HTTPProxy: p.HTTP, HTTPSProxy: p.HTTPS, NoProxy: p.No}
	}
	return s, nil
}

// Insecure reports whether a host (with an optional port) may be reached without a trusted
// certificate, and without TLS.
func (s *Sources) Insecure(host string) bool { return s != nil && slices.Contains(s.insecure, host) }

// Authorities returns the certificates that are trusted for the host, in addition to those
// of the system. It may return nil.
func (s *Sources) Authorities(host string) []*x509.Certificate {
	if s == nil {
		return nil
	}
	return s.authorities[host]
}

// Proxy returns a function that selects the proxy of a request; nil means no proxy.
func (s *Sources) Proxy() func(*http.Request) (*url.URL, error) {
	if s == nil || s.proxies == nil {
		return http.ProxyFromEnvironment
	}
	find := s.proxies.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return find(r.URL) }
}
