package diagnoses

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/deployment"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// answering bounds the time in which the API server answers.
const answering = 10 * time.Second

// Differences between the clocks. Operators of one peering pause each other by times; certificates
// and tokens are valid from a time on.
const (
	doubtful = 10 * time.Second
	wrong    = 2 * time.Minute
)

// maxVersion bounds the answer about the version, in bytes.
const maxVersion = 64 << 10

// Cluster asks a cluster for its version and its time. Without a login, it is that of the current
// context, or that of the pod. The credentials are nil if it did not answer.
func Cluster(ctx context.Context, login operator.Login) ([]Finding, *credentials.Info) {
	if login == nil {
		login = ownLogin
	}
	info, err := login(ctx)
	switch {
	case err != nil:
		return []Finding{failed(Problem, "cluster", "login", err)}, nil
	case info == nil:
		return []Finding{failed(Warning, "cluster", "login", errors.New("there is no kubeconfig, and no service account of a pod: set KUBECONFIG, or use kopf dev --cluster"))}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, answering)
	defer cancel()
	version, difference, err := ask(ctx, info.Config)
	if err != nil {
		return []Finding{failed(Problem, "cluster", "server", fmt.Errorf("%s does not answer: %w", info.Config.Host, err))}, nil
	}
	return []Finding{fine("cluster", "server", "%s, Kubernetes %s", info.Config.Host, version), clock(difference)}, info
}

// ownLogin prefers the service account of a pod, as kopf run does.
func ownLogin(ctx context.Context) (*credentials.Info, error) {
	info, err := operator.ServiceAccount(ctx)
	if info != nil || err != nil {
		return info, err
	}
	return operator.Kubeconfig(ctx)
}

// ask returns the version of the API server, and how far its clock is ahead of ours.
func ask(ctx context.Context, config *rest.Config) (version string, difference time.Duration, err error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return "", 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(server(config), "/")+"/version", nil)
	if err != nil {
		return "", 0, err
	}
	begun := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer response.Body.Close()
	middle := begun.Add(time.Since(begun) / 2)
	text, err := io.ReadAll(io.LimitReader(response.Body, maxVersion))
	if err != nil {
		return "", 0, err
	}
	if response.StatusCode != http.StatusOK {
		return "", 0, fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	var answer struct{ GitVersion string }
	if err := json.Unmarshal(text, &answer); err != nil {
		return "", 0, fmt.Errorf("it is no API server of Kubernetes: %w", err)
	}
	if there, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		difference = there.Sub(middle.Truncate(time.Second))
	}
	return answer.GitVersion, difference, nil
}

// server is the URL of the API server, which may lack its scheme.
func server(config *rest.Config) string {
	if strings.Contains(config.Host, "://") {
		return config.Host
	}
	return "https://" + config.Host
}

func clock(difference time.Duration) Finding {
	away := difference.Abs()
	if away < doubtful {
		return fine("clock", "difference", "%v to the API server", away)
	}
	level := Warning
	if away >= wrong {
		level = Problem
	}
	return failed(level, "clock", "difference", fmt.Errorf("%v to the API server: peering, tokens and certificates depend on the time; synchronize both clocks (NTP)", away))
}

// Rights asks the cluster for all rights that an operator needs, as the account of these
// credentials.
func Rights(ctx context.Context, o *deployment.Operator, info *credentials.Info) Finding {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	client := clients.ForCommand(ctx, map[string]credentials.Info{"host": *info}, "kopf", zerolog.Nop())
	missing, err := o.Missing(ctx, client.Ask)
	switch {
	case err != nil:
		return failed(Problem, "rights", o.Name, err)
	case len(missing) > 0:
		return failed(Problem, "rights", o.Name, fmt.Errorf("the account lacks %s; kopf manifest prints roles with them", strings.Join(missing, "; ")))
	}
	return fine("rights", o.Name, "all that the operator needs")
}
