package traces

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Target is where spans are sent.
type Target struct {
	URL     string      // of the path for traces
	Header  http.Header // of each request; may be nil
	Service string      // the name of the operator; empty: its own name
}

// named returns the attributes that name a service: that of the target, or else this one.
func (t *Target) named(service string) []attribute {
	return []attribute{textual("service.name", cmp.Or(t.Service, service))}
}

// ErrTarget means that spans cannot be sent where an option or an environment variable says.
var ErrTarget = errors.New("traces")

// These are the environment variables of OpenTelemetry that have an effect.
//
// See https://opentelemetry.io/docs/specs/otel/protocol/exporter/
const (
	envEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	envHeaders        = "OTEL_EXPORTER_OTLP_HEADERS"
	envTracesHeaders  = "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
	envProtocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	envTracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	envExporter       = "OTEL_TRACES_EXPORTER"
	envDisabled       = "OTEL_SDK_DISABLED"
	envService        = "OTEL_SERVICE_NAME"
)

// path is the path for traces of a collector.
const path = "/v1/traces"

// TargetOf returns where spans are sent: to the URL of a flag, or else to the collector that the
// environment names. It returns nil if there is none.
//
// Errors: ErrTarget, with the flag or the variable at fault.
func TargetOf(flag string, env func(name string) string) (*Target, error) {
	t := &Target{Service: env(envService)}
	var err error
	switch {
	case flag != "":
		t.URL, err = endpoint("--traces", flag, true)
	case strings.EqualFold(env(envDisabled), "true") || env(envExporter) == "none":
		return nil, nil
	case env(envTracesEndpoint) != "":
		t.URL, err = endpoint(envTracesEndpoint, env(envTracesEndpoint), false)
	case env(envEndpoint) != "":
		t.URL, err = endpoint(envEndpoint, env(envEndpoint), true)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, name := range []string{envTracesProtocol, envProtocol} {
		if protocol := env(name); flag == "" && protocol != "" {
			if !strings.HasPrefix(protocol, "http/") {
				return nil, fmt.Errorf("%w: %s is %q, but spans are sent by http/json: name a collector that has it, usually at port 4318", ErrTarget, name, protocol)
			}
			break
		}
	}
	t.Header, err = headers(env)
	return t, err
}

// endpoint returns the URL for traces. A base is completed.
func endpoint(from, text string, base bool) (string, error) {
	u, err := url.Parse(text)
	switch {
	case strings.Contains(text, "@"), err == nil && (u.RawQuery != "" || u.Fragment != ""): // what follows is not shown: it may be a secret
		return "", fmt.Errorf("%w: invalid URL in %s: must have no credentials, no query and no fragment: use %s for credentials", ErrTarget, from, envHeaders)
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("%w: invalid URL %q in %s: must be like http://collector:4318", ErrTarget, text, from)
	}
	if base && !strings.HasSuffix(strings.TrimRight(u.Path, "/"), path) {
		u = u.JoinPath(path)
	}
	return u.String(), nil
}

// headers reads the headers of requests: a=b,c=d, with values that are encoded as in URLs.
func headers(env func(name string) string) (http.Header, error) {
	header := http.Header{}
	for _, name := range []string{envHeaders, envTracesHeaders} {
		for pair := range strings.SplitSeq(env(name), ",") {
			if strings.TrimSpace(pair) == "" {
				continue
			}
			key, text, found := strings.Cut(pair, "=")
			key = strings.TrimSpace(key)
			decoded, err := url.PathUnescape(strings.TrimSpace(text))
			if !found || key == "" || err != nil || strings.ContainsAny(key, " :\r\n") || strings.ContainsAny(decoded, "\r\n\x00") {
				return nil, fmt.Errorf("%w: invalid header in %s: must be NAME=VALUE,…", ErrTarget, name) // the value may be a secret
			}
			header.Set(key, decoded)
		}
	}
	return header, nil
}
