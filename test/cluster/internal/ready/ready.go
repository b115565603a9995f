// Package ready finds out when a control plane can be used, by using it.
package ready

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// interval between two looks.
const interval = 50 * time.Millisecond

// requestTimeout bounds one look; a server that is still starting may accept
// a request long before it answers.
const requestTimeout = 5 * time.Second

// namespace is where the probing objects are made.
const namespace = "default"

// Prober asks one API server.
type Prober struct {
	server string
	token  string
	client *http.Client
}

// New returns a prober for the server's URL that trusts the authority ca
// (PEM) and presents the token.
func New(server string, ca []byte, token string) (*Prober, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("readiness: no certificate of the authority")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	return &Prober{
		server: server,
		token:  token,
		client: &http.Client{Transport: transport, Timeout: requestTimeout},
	}, nil
}

// Close drops the connections.
func (p *Prober) Close() { p.client.CloseIdleConnections() }

// APIServer returns when the API server says that it is ready. Its error is
// the cause of the context's end and the last reason for waiting.
func (p *Prober) APIServer(ctx context.Context) error {
	return poll(ctx, "not ready", func() error {
		_, err := p.do(ctx, http.MethodGet, "/readyz", nil)
		return err
	})
}

// Controllers returns when the controllers work: the service-account
// controller has made an account, and the garbage collector has removed an
// object whose owner does not exist. The namespace controller has no quick
// proof, since it waits five seconds by design; but it shares the informer of
// namespaces with the service-account controller, and is subscribed before
// that informer starts. So no deletion of a namespace is missed after this.
func (p *Prober) Controllers(ctx context.Context) error {
	account := "/api/v1/namespaces/" + namespace + "/serviceaccounts/default"
	err := poll(ctx, "no service accounts are made", func() error {
		_, err := p.do(ctx, http.MethodGet, account, nil)
		return err
	})
	if err != nil {
		return err
	}
	orphan, err := p.createOrphan(ctx)
	if err != nil {
		return fmt.Errorf("probing the garbage collector: %w", err)
	}
	return poll(ctx, "no garbage is collected", func() error {
		_, err := p.do(ctx, http.MethodGet, orphan, nil)
		var status statusError
		switch {
		case errors.As(err, &status) && status == http.StatusNotFound:
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("%s is still there", orphan)
	})
}

// createOrphan makes an object that must be garbage-collected; it returns
// the object's path.
func (p *Prober) createOrphan(ctx context.Context) (string, error) {
	configmaps := "/api/v1/namespaces/" + namespace + "/configmaps"
	answer, err := p.do(ctx, http.MethodPost, configmaps, map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata": map[string]any{
			"generateName": "devcluster-probe-",
			"ownerReferences": []any{map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "name": "devcluster-absent", "uid": rand.Text(),
			}},
		},
	})
	if err != nil {
		return "", err
	}
	var made struct {
		Metadata struct{ Name string }
	}
	if err := json.Unmarshal(answer, &made); err != nil {
		return "", err
	}
	return configmaps + "/" + made.Metadata.Name, nil
}

// statusError is an HTTP status other than success.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("HTTP status %d", int(s)) }

func (p *Prober) do(ctx context.Context, method, path string, body any) ([]byte, error) {
	var payload io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		payload = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, p.server+path, payload)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+p.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusMultipleChoices {
		err = statusError(response.StatusCode)
	}
	return answer, err
}

// poll looks again and again until there is no error or no time.
func poll(ctx context.Context, waiting string, look func() error) error {
	for {
		err := look()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w; the last look: %w", waiting, context.Cause(ctx), err)
		case <-time.After(interval):
		}
	}
}
