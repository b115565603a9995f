package webhooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/internal/durations"
	"github.com/kopf-wasm/kopf/webhooks/certificates"
)

// options holds the options of all server types in their JSON form.
type options struct {
	Type string  `json:"type"`
	Addr *string `json:"addr"`
	Port *int    `json:"port"`
	Path *string `json:"path"`
	Host *string `json:"host"`

	Service *Service                `json:"service"`
	Secret  *certificates.SecretRef `json:"secret"`

	CAData *string `json:"cadata"`
	CAFile *string `json:"cafile"`
	CADump *string `json:"cadump"`

	Insecure  bool     `json:"insecure"`
	CertFile  *string  `json:"certfile"`
	KeyFile   *string  `json:"pkeyfile"`
	Password  *string  `json:"password"`
	ExtraSANs []string `json:"extra_sans"`

	VerifyMode   *string `json:"verify_mode"`
	VerifyCAFile *string `json:"verify_cafile"`
	VerifyCAPath *string `json:"verify_capath"`
	VerifyCAData *string `json:"verify_cadata"`

	FileCheckInterval *float64 `json:"file_check_interval"` // seconds

	Token  *string `json:"token"`
	Region *string `json:"region"`
	Binary *string `json:"binary"`
}

var (
	localOptions = []string{
		"type", "addr", "port", "path", "host", "service", "secret", "cadata", "cafile", "cadump", "insecure", "certfile", "pkeyfile",
		"password", "extra_sans", "verify_mode", "verify_cafile", "verify_capath", "verify_cadata", "file_check_interval",
	}
	tunnelOptions     = []string{"type", "addr", "port", "path", "token", "region", "binary"}
	autoTunnelOptions = []string{"type", "addr", "port", "path"}

	// ofHost lists the options of the class host: files, passwords, programs, secrets.
	ofHost = []string{"secret", "cafile", "cadump", "certfile", "pkeyfile", "password", "verify_cafile", "verify_capath", "token", "binary"}
)

// serverType is a type of server.
type serverType struct {
	options []string
	host    bool // only the host may choose it, because it runs programs
	make    func(o options) Server
}

var serverTypes = map[string]serverType{
	"server":         {localOptions, false, func(o options) Server { return o.local("") }},
	"k3d":            {localOptions, false, func(o options) Server { return o.local(K3dHost) }},
	"minikube":       {localOptions, false, func(o options) Server { return o.local(MinikubeHost) }},
	"docker-desktop": {localOptions, false, func(o options) Server { return o.local(DockerDesktopHost) }},
	"auto-server": {localOptions, false, func(o options) Server {
		s := o.local("")
		s.Detect = true
		return s
	}},
	"ngrok": {tunnelOptions, true, func(o options) Server { return o.ngrok() }},
	"auto-tunnel": {autoTunnelOptions, true, func(o options) Server {
		return &AutoTunnel{Local: *o.local(""), Tunnel: *o.ngrok()}
	}},
}

// ParseServer creates a server from its JSON form: {"type": "server", "port": 9443}, or the
// type as a string. Guests may not set files, passwords, programs and secrets.
//
// Errors name the option, and the class of an option that a guest may not set.
func ParseServer(raw json.RawMessage, fromGuest bool) (Server, error) {
	var name string
	if json.Unmarshal(raw, &name) == nil {
		raw, _ = json.Marshal(map[string]string{"type": name}) // a map of strings always encodes
	}
	given, o, err := decodeOptions(raw)
	if err != nil {
		return nil, err
	}
	known, ok := serverTypes[o.Type]
	if !ok {
		types := slices.Sorted(maps.Keys(serverTypes))
		return nil, fmt.Errorf("unknown type %q of a server; known are: %s", o.Type, strings.Join(types, ", "))
	}
	if fromGuest && known.host {
		return nil, fmt.Errorf("the type %q is of the class host: a guest may not choose it", o.Type)
	}
	for _, option := range slices.Sorted(maps.Keys(given)) {
		switch {
		case !slices.Contains(known.options, option):
			return nil, fmt.Errorf("a server of the type %q has no option %q; it has: %s", o.Type, option, strings.Join(known.options, ", "))
		case fromGuest && slices.Contains(ofHost, option) && string(given[option]) != "null":
			return nil, fmt.Errorf("the option %q is of the class host: a guest may not set it", option)
		}
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	return known.make(o), nil
}

func decodeOptions(raw json.RawMessage) (given map[string]json.RawMessage, o options, err error) {
	if err = json.Unmarshal(raw, &given); err != nil {
		return nil, o, fmt.Errorf("%s is neither the type of a server nor an object with its options", raw)
	}
	if err = json.Unmarshal(raw, &o); err != nil {
		var mistyped *json.UnmarshalTypeError
		if errors.As(err, &mistyped) {
			err = fmt.Errorf("the option %q cannot be a %s", mistyped.Field, mistyped.Value)
		}
		return nil, o, err
	}
	return given, o, nil
}

// Limits of names in generated certificates.
const (
	maxSANs = 100
	maxSAN  = 253 // bytes
)

func (o options) check() error {
	switch {
	case o.Port != nil && (*o.Port < 0 || *o.Port > 65535):
		return fmt.Errorf("invalid port %d: must be 0–65535", *o.Port)
	case o.Service != nil && (o.Service.Name == "" || o.Service.Namespace == ""):
		return errors.New("a service needs a namespace and a name")
	case o.Secret != nil && (o.Secret.Name == "" || o.Secret.Namespace == ""):
		return errors.New("a secret needs a namespace and a name")
	case o.FileCheckInterval != nil && *o.FileCheckInterval <= 0:
		return fmt.Errorf("file_check_interval: %v is not positive", *o.FileCheckInterval)
	}
	if len(o.ExtraSANs) > maxSANs {
		return fmt.Errorf("extra_sans: %d names; at most %d are possible", len(o.ExtraSANs), maxSANs)
	}
	for _, name := range o.ExtraSANs {
		if len(name) > maxSAN {
			return fmt.Errorf("extra_sans: %q… has %d bytes; a name has at most %d", cut(name), len(name), maxSAN)
		}
	}
	if o.VerifyMode != nil && !slices.Contains([]VerifyMode{VerifyNone, VerifyOptional, VerifyRequired}, VerifyMode(*o.VerifyMode)) {
		return fmt.Errorf("verify_mode %q: want none, optional or required", *o.VerifyMode)
	}
	_, err := o.local("").source()
	return err
}

// local creates a local server. The host applies if the options have none.
func (o options) local(host string) *LocalServer {
	s := &LocalServer{
		Addr: value(o.Addr), Port: value(o.Port), Path: value(o.Path), Host: host, Service: o.Service, Secret: o.Secret,
		CAFile: value(o.CAFile), CADump: value(o.CADump), Insecure: o.Insecure,
		CertFile: value(o.CertFile), KeyFile: value(o.KeyFile), Password: value(o.Password), ExtraSANs: o.ExtraSANs,
		Verify: VerifyMode(value(o.VerifyMode)), VerifyCAFile: value(o.VerifyCAFile), VerifyCAPath: value(o.VerifyCAPath),
		FileCheckInterval: durations.Seconds(value(o.FileCheckInterval)),
	}
	if o.Host != nil && *o.Host != "" {
		s.Host = *o.Host
	}
	if o.CAData != nil {
		s.CAData = []byte(*o.CAData)
	}
	if o.VerifyCAData != nil {
		s.VerifyCAData = []byte(*o.VerifyCAData)
	}
	return s
}

func (o options) ngrok() *NgrokTunnel {
	return &NgrokTunnel{
		Addr: value(o.Addr), Port: value(o.Port), Path: value(o.Path),
		Token: value(o.Token), Region: value(o.Region), Binary: value(o.Binary),
	}
}

// value dereferences a pointer; nil gives the zero value.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
