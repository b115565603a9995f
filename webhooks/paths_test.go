package webhooks

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/reviews"
)

// asked notes which webhook was asked for.
type asked struct {
	Operator
	webhook string
}

func (a *asked) Review(_ context.Context, in *reviews.Incoming) (*reviews.Verdict, error) {
	a.webhook = in.Webhook
	return &reviews.Verdict{}, nil
}

func (a *asked) Reserve(context.Context, int) (*accounts.Lease, error) { return nil, nil }

func (a *asked) Convert(_ context.Context, object []byte, _ string) ([]byte, error) {
	a.webhook = conversionID
	return object, nil
}

// TestPathsOfServices: API servers accept only names of DNS as segments of the path of a service. The server knows what is meant.
func TestPathsOfServices(t *testing.T) {
	prefix := "/operators/ns/op"
	config := ClientConfig{Service: &Service{Namespace: "ns", Name: "op", Path: &prefix}}
	for id, plain := range map[string]bool{
		"check": true, "check-size/spec.field": true, "check_size": false, "checkSize": false, "fn/Field": false, "<lambda>": false, "é": false,
		"hex-check": false, "hex-5f": false, conversionID: false,
	} {
		webhook, err := describeWebhook(reviews.Handler{ID: id, Spec: abi.Handler{}}, "x", config)
		if err != nil {
			t.Fatal(err)
		}
		path := dicts.LookupString(webhook, "clientConfig", "service", "path")
		below, ok := strings.CutPrefix(path, prefix)
		if !ok || (below == "/"+id) != plain {
			t.Errorf("%q has the path %s", id, path)
		}
		for segment := range strings.SplitSeq(path[1:], "/") {
			if problems := validation.IsDNS1123Subdomain(segment); problems != nil {
				t.Errorf("%q: the segment %q of %s: %v", id, segment, path, problems)
			}
		}
		body := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","kind":{"group":"g","version":"v1","kind":"K"},"resource":{"group":"g","version":"v1","resource":"ks"},"operation":"CREATE","userInfo":{},"object":{}}}`
		if id == conversionID {
			body = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"g/v2","objects":[{"apiVersion":"g/v1","kind":"K"}]}}`
		}
		for _, path := range []string{below, "/" + id} {
			o := &asked{}
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
			r.URL.Path = path
			w := httptest.NewRecorder()
			h := NewHandler(o, Limits{}, zerolog.Nop())
			if h.ServeHTTP(w, r); o.webhook != id && !strings.HasPrefix(path, "/hex-5f") {
				t.Errorf("%s asks for %q, not for %q: %d %s", path, o.webhook, id, w.Code, w.Body)
			}
			h.Wait()
		}
	}
	target := "https://x"
	if url := (ClientConfig{URL: &target}).at("check_size").URL; *url != "https://x/check_size" {
		t.Errorf("the URL is %s", *url)
	}
	if url := (ClientConfig{URL: &target}).at("hex-cafe").URL; *url != "https://x/hex-6865782d63616665" || idOf(strings.TrimPrefix(*url, target)) != "hex-cafe" {
		t.Errorf("the URL is %s, and asks for %q", *url, idOf(strings.TrimPrefix(*url, target)))
	}
}
