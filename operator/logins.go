package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// Priorities of the host's own logins: inside of a cluster, its service account
// is preferred.
//
// Kopf: kopf._core.intents.piggybacking (v1.45).
const (
	priorityOfKubeconfig     = 10
	priorityOfServiceAccount = 20
)

// serviceAccount is the folder of the service account of a pod.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// logins are the host's own ways to log in: that of an embedder, or the usual ones.
func logins(own func(context.Context) (*credentials.Info, error)) []credentials.HostLogin {
	if own != nil {
		return []credentials.HostLogin{{Name: "host", Get: own}}
	}
	return []credentials.HostLogin{
		{Name: "kubeconfig", Where: "$KUBECONFIG or ~/.kube/config", Get: Kubeconfig},
		{Name: "service_account", Where: "the service account of a pod", Get: ServiceAccount},
	}
}

// ServiceAccount logs in with the service account of the pod, whose token may be
// rotated. It returns nil outside of a cluster.
//
// Kopf: kopf.login_with_service_account (v1.45).
func ServiceAccount(ctx context.Context) (*credentials.Info, error) {
	return ServiceAccountAt(serviceAccount)(ctx)
}

// ServiceAccountAt logs in with the files token, ca.crt and namespace of a folder, at the
// server of $KUBERNETES_SERVICE_HOST and $KUBERNETES_SERVICE_PORT. It returns nil without
// these or without a token. The token is read again when it is old, or refused.
func ServiceAccountAt(dir string) func(context.Context) (*credentials.Info, error) {
	return func(context.Context) (*credentials.Info, error) {
		host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
		tokenFile, authorities := filepath.Join(dir, "token"), filepath.Join(dir, "ca.crt")
		token, err := os.ReadFile(tokenFile)
		if errors.Is(err, os.ErrNotExist) || host == "" || port == "" {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("no credentials: %w", err)
		}
		config := &rest.Config{
			Host: "https://" + net.JoinHostPort(host, port), QPS: -1, // our own limits hold
			BearerToken: string(bytes.TrimSpace(token)), BearerTokenFile: tokenFile,
		}
		if _, err := cert.NewPool(authorities); err == nil {
			config.CAFile = authorities
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("no credentials: %w", err)
		}
		namespace, err := os.ReadFile(filepath.Join(dir, "namespace"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("no credentials: %w", err)
		}
		return &credentials.Info{Config: config, DefaultNamespace: strings.TrimSpace(string(namespace)), Priority: priorityOfServiceAccount}, nil
	}
}
