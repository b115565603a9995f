package clients

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kopf-wasm/kopf/reactor/credentials"
)

func TestAnswersOfAllSizes(t *testing.T) {
	for _, size := range []int{0, 1, usualBody - 1, usualBody, usualBody + 1, 100_000, maxProvided + 10} {
		text := strings.Repeat("x", size)
		for _, announced := range []int64{-1, int64(size)} {
			for _, into := range [][]byte{nil, make([]byte, 0, 16), make([]byte, 5, 200_000)} {
				for name, body := range map[string]io.Reader{
					"whole": strings.NewReader(text), "slow": iotest.HalfReader(strings.NewReader(text)), "with its end": iotest.DataErrReader(strings.NewReader(text)),
				} {
					got, err := readAll(&http.Response{Body: io.NopCloser(body), ContentLength: announced}, into)
					if err != nil || string(got) != text {
						t.Errorf("%d bytes, announced %d, %s: got %d bytes, %v", size, announced, name, len(got), err)
					}
					if announced >= 0 && size < cap(into) && &got[:1][0] != &into[:1][0] {
						t.Errorf("%d bytes: the answer is not in the memory for it", size)
					}
				}
			}
		}
	}
	broken := errors.New("broken")
	body := io.MultiReader(strings.NewReader("x"), iotest.ErrReader(broken))
	if _, err := readAll(&http.Response{Body: io.NopCloser(body), ContentLength: 2}, nil); !errors.Is(err, broken) {
		t.Errorf("got the error %v", err)
	}
}

func TestLongAnswersAreRefused(t *testing.T) {
	endless := io.NopCloser(io.MultiReader(bytes.NewReader(make([]byte, MaxBody)), strings.NewReader("xx")))
	if data, err := readAll(&http.Response{Body: endless, ContentLength: -1}, nil); !errors.Is(err, ErrLongBody) || len(data) != MaxBody+1 {
		t.Errorf("got %d bytes and the error %v", len(data), err)
	}
}

// Requests share the headers that the host chooses, and get copies of those of guests.
func TestHeadersOfRequests(t *testing.T) {
	conn := &connection{base: &url.URL{Scheme: "https", Host: "server"}, agent: "kopf/1", authorization: "Basic x"}
	own := http.Header{"X-Mine": {"y"}}
	for _, tt := range []struct {
		content content
		want    http.Header
	}{
		{content{}, http.Header{"Accept": {"application/json"}, "User-Agent": {"kopf/1"}, "Authorization": {"Basic x"}}},
		{content{kind: MergePatch}, http.Header{"Accept": {"application/json"}, "Content-Type": {MergePatch}, "User-Agent": {"kopf/1"}, "Authorization": {"Basic x"}}},
		{content{accept: "text/plain"}, http.Header{"Accept": {"text/plain"}, "User-Agent": {"kopf/1"}, "Authorization": {"Basic x"}}},
		{content{header: own}, http.Header{"X-Mine": {"y"}, "User-Agent": {"kopf/1"}, "Authorization": {"Basic x"}}},
		{content{header: http.Header{"User-Agent": {"mine"}}}, http.Header{"User-Agent": {"mine"}, "Authorization": {"Basic x"}}},
		{content{header: http.Header{}, kind: MergePatch}, http.Header{"User-Agent": {"kopf/1"}, "Authorization": {"Basic x"}}},
	} {
		for range 2 {
			req, err := conn.to(t.Context(), draft{http.MethodPatch, "/api/v1/pods?x=y", tt.content})
			if err != nil || !reflect.DeepEqual(req.Header, tt.want) || req.URL.String() != "https://server/api/v1/pods?x=y" {
				t.Errorf("%+v: got %v to %v, %v", tt.content, req.Header, req.URL, err)
			}
		}
	}
	if len(own) != 1 {
		t.Errorf("the headers of the guest are %v", own)
	}
}

// Transports that set headers, such as the token of a credential plugin, set them for one request only.
func TestHeadersThatTransportsChange(t *testing.T) {
	for name, config := range map[string]*rest.Config{
		"a wrapper":   {WrapTransport: func(rt http.RoundTripper) http.RoundTripper { return rt }},
		"a transport": {Transport: http.DefaultTransport},
		"a plugin":    {ExecProvider: &clientcmdapi.ExecConfig{Command: "plugin", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}},
	} {
		config.Host = "https://server"
		conn, err := connect(credentials.Info{Config: config}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			req, err := conn.to(t.Context(), draft{method: http.MethodGet, target: "/api"})
			if err != nil {
				t.Fatal(err)
			}
			if got := req.Header.Get("Authorization"); got != "" {
				t.Errorf("%s: the next request has the authorization %q", name, got)
			}
			req.Header.Set("Authorization", "Bearer once")
		}
	}
}
