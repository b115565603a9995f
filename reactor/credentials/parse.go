package credentials

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Rules decide which results of login handlers are accepted.
type Rules struct {
	// Own are the host's own logins by name. A handler may choose one, but not read it.
	Own map[string]Info

	// Base is the login whose server is used if a handler names none. It is nil if the host
	// has no login.
	Base *Info

	// AllowServer lets a handler choose the server and its certificate authorities, or
	// disable verification. AllowProxy lets it choose a proxy.
	AllowServer, AllowProxy bool
}

// result is what a login handler returns: kopf.ConnectionInfo as JSON.
type result struct {
	Login            string    `json:"login"`
	Priority         int       `json:"priority"`
	DefaultNamespace string    `json:"default_namespace"`
	Expiration       timestamp `json:"expiration"`

	Server   string `json:"server"`
	ProxyURL string `json:"proxy_url"`

	CAData          pem    `json:"ca_data"`
	Insecure        bool   `json:"insecure"`
	Username        string `json:"username"`
	Password        string `json:"password"`
	Scheme          string `json:"scheme"`
	Token           string `json:"token"`
	CertificateData pem    `json:"certificate_data"`
	PrivateKeyData  pem    `json:"private_key_data"`
}

// hostFields are Kopf's fields that would read files of the host.
var hostFields = []string{"ca_path", "certificate_path", "private_key_path", "trust_env"}

// Parse makes credentials from the result of a login handler.
func (r Rules) Parse(data []byte) (Info, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return Info{}, fmt.Errorf("want an object like ConnectionInfo, not %.100s", data)
	}
	for _, name := range hostFields {
		if value, ok := fields[name]; ok && string(value) != "null" && string(value) != "false" {
			return Info{}, fmt.Errorf("%s is a field of the class host: a module has no files and no environment; data can be given", name)
		}
		delete(fields, name)
	}
	known, err := json.Marshal(fields)
	if err != nil {
		return Info{}, err
	}
	var got result
	if err := dicts.DecodeInto(known, &got); err != nil {
		return Info{}, err
	}
	if err := r.check(got); err != nil {
		return Info{}, err
	}
	if got.Login != "" {
		return r.chosen(got)
	}
	return r.made(got)
}

func (r Rules) check(got result) error {
	switch {
	case got.Server != "" && !r.AllowServer:
		return errors.New("server is a field of the class grant: it needs --allow-server")
	case got.Insecure && !r.AllowServer:
		return errors.New("insecure is a field of the class grant: it needs --allow-server")
	case len(got.CAData) > 0 && !r.AllowServer:
		return errors.New("ca_data is a field of the class grant: it needs --allow-server")
	case got.ProxyURL != "" && !r.AllowProxy:
		return errors.New("proxy_url is a field of the class grant: it needs --allow-proxy")
	case (len(got.CertificateData) > 0) != (len(got.PrivateKeyData) > 0):
		return errors.New("certificate_data and private_key_data belong together")
	case strings.ContainsAny(got.Token+got.Scheme, "\r\n"): // no request could be sent
		return errors.New("token: it has a line break, as most files have at their end: remove it")
	}
	return nil
}

// chosen returns one of the host's own logins, restricted as the result asks.
func (r Rules) chosen(got result) (Info, error) {
	info, ok := r.Own[got.Login]
	if !ok {
		return Info{}, fmt.Errorf("the host has no login %q", got.Login)
	}
	limits := result{Login: got.Login, Priority: got.Priority, DefaultNamespace: got.DefaultNamespace, Expiration: got.Expiration}
	if !reflect.DeepEqual(got, limits) {
		return Info{}, errors.New("a login of the host can be limited by priority, expiration and default_namespace only")
	}
	return r.limited(info, got), nil
}

func (r Rules) limited(info Info, got result) Info {
	if got.Priority != 0 {
		info.Priority = got.Priority
	}
	if got.DefaultNamespace != "" {
		info.DefaultNamespace, info.GuestNamespace = got.DefaultNamespace, true
	}
	info.Expiration = time.Time(got.Expiration)
	return info
}

// made makes credentials from the handler's data, for its server or the host's.
func (r Rules) made(got result) (Info, error) {
	info := Info{Config: &rest.Config{Host: got.Server, QPS: -1}}
	if got.Server == "" {
		if r.Base == nil {
			return Info{}, errors.New("server is required: the host has no login of its own")
		}
		info = Info{Config: rest.AnonymousClientConfig(r.Base.Config), DefaultNamespace: r.Base.DefaultNamespace}
	}
	c := info.Config
	c.Username, c.Password, c.BearerToken = got.Username, got.Password, got.Token
	c.CertData, c.KeyData = got.CertificateData, got.PrivateKeyData
	if len(got.CAData) > 0 {
		c.CAData, c.CAFile = got.CAData, ""
	}
	if got.Insecure {
		c.Insecure, c.CAData, c.CAFile = true, nil, "" // client-go rejects an authority without verification
	}
	if got.ProxyURL != "" {
		proxy, err := url.Parse(got.ProxyURL)
		if err != nil {
			return Info{}, fmt.Errorf("proxy_url: %w", err)
		}
		c.Proxy = http.ProxyURL(proxy)
	}
	switch basic := got.Username != "" && got.Password != ""; {
	case basic:
		c.BearerToken = "" // as in Kopf: the password wins
	case got.Scheme != "":
		c.BearerToken = ""
		info.Authorization = got.Scheme
		if got.Token != "" {
			info.Authorization += " " + got.Token
		}
	}
	if _, err := rest.HTTPClientFor(c); err != nil {
		return Info{}, err // invalid certificates, or an invalid server URL
	}
	return r.limited(info, got), nil
}

// pem is a PEM text, plain or encoded in base64.
type pem []byte

func (p *pem) UnmarshalJSON(data []byte) error {
	var text *string
	if err := json.Unmarshal(data, &text); err != nil || text == nil {
		return err
	}
	if bytes.HasPrefix([]byte(*text), []byte("-----BEGIN ")) || *text == "" {
		*p = pem(*text)
		return nil
	}
	decoded, err := base64.StdEncoding.DecodeString(*text)
	if err != nil {
		return errors.New("certificates and keys are PEM, or PEM in base64")
	}
	*p = decoded
	return nil
}

// timestamp is a time in ISO 8601; UTC if it has no zone.
type timestamp time.Time

var timestampLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02"}

func (t *timestamp) UnmarshalJSON(data []byte) error {
	var text *string
	if err := json.Unmarshal(data, &text); err != nil || text == nil || *text == "" {
		return err
	}
	for _, layout := range timestampLayouts {
		if parsed, err := time.Parse(layout, *text); err == nil {
			*t = timestamp(parsed)
			return nil
		}
	}
	return fmt.Errorf("expiration: %q is not a time like 2099-12-31T23:59:59", *text)
}
