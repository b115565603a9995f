package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/endpoints"
)

// listenOptions are the flags of `kopf serve` about its own endpoints.
type listenOptions struct {
	addresses        []string
	certificate, key string
}

func (o *listenOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.addresses, "listen", nil, "serve /statusz, /metrics, /livez and /readyz, and logs of operators, at this `ADDRESS`: 127.0.0.1:8080; with HTTPS and authentication if other machines can reach it: 0.0.0.0:8443 (repeatable)")
	flags.StringVar(&o.certificate, "tls-cert-file", "", "the `file` with the certificate for --listen with HTTPS, in PEM (default a certificate that clients cannot verify)")
	flags.StringVar(&o.key, "tls-private-key-file", "", "the `file` with the private key of --tls-cert-file, in PEM")
}

// check checks how the flags fit together.
func (o *listenOptions) check() error {
	switch {
	case (o.certificate == "") != (o.key == ""):
		return usageError{errors.New("--tls-cert-file and --tls-private-key-file belong together: add the other one")}
	case o.certificate != "" && len(o.addresses) == 0:
		return usageError{errors.New("--tls-cert-file is for --listen: add an address")}
	}
	return checkAddresses(o.addresses...)
}

// checkAddresses checks the form of the addresses of --listen.
func checkAddresses(addresses ...string) error {
	for _, address := range addresses {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return usageError{fmt.Errorf("--listen %q: want an address with a port, like 127.0.0.1:8080", address)}
		}
	}
	return nil
}

// serve serves the endpoints of a host until the returned function is called.
func (o *listenOptions) serve(ctx context.Context, host *hosting.Host, config *rest.Config, log zerolog.Logger) (stop func(), err error) {
	servers, err := endpoints.Serve(ctx, host, endpoints.Options{
		Addresses: o.addresses, Certificate: o.certificate, Key: o.key, Config: config, Version: version(), Log: log,
	})
	if err != nil {
		return nil, err
	}
	return servers.Close, nil
}
