package webhooks

import (
	"encoding/hex"
	"net/url"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Name is the name of a handler's webhook in a configuration: the id, with replacements for
// what Kubernetes does not accept, and the suffix of the operator's settings.
func Name(id, suffix string) string {
	var name strings.Builder
	for _, r := range id {
		switch {
		case r == '/':
			name.WriteByte('.')
		case r == '_':
			name.WriteByte('-')
		case r == '.' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r):
			name.WriteRune(r)
		default:
			name.WriteString(hex.EncodeToString([]byte(string(r))))
		}
	}
	if suffix == "" {
		return name.String()
	}
	return name.String() + "." + suffix
}

// ClientConfig tells the API server how to reach the webhooks: by a URL or by a service.
//
// See https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#contacting-the-webhook
type ClientConfig struct {
	URL      *string  `json:"url,omitempty"`
	Service  *Service `json:"service,omitempty"`
	CABundle string   `json:"caBundle,omitempty"` // base64
}

// Service identifies a service in the cluster.
type Service struct {
	Namespace string  `json:"namespace,omitempty"`
	Name      string  `json:"name,omitempty"`
	Path      *string `json:"path,omitempty"`
	Port      int     `json:"port,omitempty"`
}

// For returns the client config for one handler. The id of the handler is the last part of
// the path.
func (c ClientConfig) For(id string) ClientConfig {
	var parts []string
	for _, part := range strings.Split(id, "/") {
		parts = append(parts, quote(part))
	}
	suffix := "/" + strings.Join(parts, "/")
	if c.URL != nil {
		full := strings.TrimRight(*c.URL, "/") + suffix
		c.URL = &full
	}
	if c.Service != nil {
		service := *c.Service
		if service.Path != nil {
			suffix = *service.Path + suffix
		}
		service.Path = &suffix
		c.Service = &service
	}
	return c
}

// at is For, in the form that API servers accept: the segments of the path of a service must be names of DNS. See idOf, which would
// decode parts of ids that begin like an encoded one.
func (c ClientConfig) at(id string) ClientConfig {
	parts := strings.Split(id, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, encoded) || c.Service != nil && len(validation.IsDNS1123Subdomain(part)) > 0 {
			parts[i] = encoded + hex.EncodeToString([]byte(part))
		}
	}
	return c.For(strings.Join(parts, "/"))
}

// encoded begins segments of paths that stand for other texts, in hexadecimal.
const encoded = "hex-"

// idOf returns the id of the handler that a path of the server is for.
func idOf(path string) string {
	id := strings.TrimPrefix(path, "/")
	if !strings.Contains(id, encoded) {
		return id
	}
	parts := strings.Split(id, "/")
	for i, part := range parts {
		if digits, ok := strings.CutPrefix(part, encoded); ok {
			if text, err := hex.DecodeString(digits); err == nil {
				parts[i] = string(text)
			}
		}
	}
	return strings.Join(parts, "/")
}

// quote escapes all characters except letters, digits and _.-~, as Kopf does.
func quote(part string) string {
	return strings.ReplaceAll(url.QueryEscape(part), "+", "%20")
}
