package reactortest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// MemoryServer merges patches into the single object that it holds.
type MemoryServer struct {
	Version int
	Object  []byte
	Patch   []byte // the last one
}

// RoundTrip implements http.RoundTripper.
func (s *MemoryServer) RoundTrip(r *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.Patch = raw
	patch, err := dicts.DecodeObject(raw)
	if err != nil {
		return nil, err
	}
	object, err := dicts.DecodeObject(s.Object)
	if err != nil {
		return nil, err
	}
	mergeInto(object, patch)
	s.Version++
	object["metadata"].(dicts.Object)["resourceVersion"] = fmt.Sprint(s.Version)
	if s.Object, err = json.Marshal(object); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(s.Object))), ContentLength: int64(len(s.Object)),
	}, nil
}

func mergeInto(target, patch dicts.Object) {
	for key, value := range patch {
		part, ok := value.(dicts.Object)
		inner, exists := target[key].(dicts.Object)
		switch {
		case value == nil:
			delete(target, key)
		case ok && exists:
			mergeInto(inner, part)
		default:
			target[key] = value
		}
	}
}

// NewObject returns an object of about 600 bytes, in the form of the API server.
func NewObject(n int) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","generation":1,`+
		`"managedFields":[{"apiVersion":"kopf.dev/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{".":{},"f:field":{},"f:items":{},"f:text":{}}},`+
		`"manager":"kubectl","operation":"Update","time":"2026-01-01T00:00:00Z"}],"name":"example-%d","namespace":"default","resourceVersion":"%d",`+
		`"uid":"uid-%d"},"spec":{"field":"value","items":[1,2,3],"text":%q}}`, n, n, n, strings.Repeat("x", 200))
}

// Unchanging is a server that accepts each patch and returns one unchanged object.
type Unchanging []byte

// RoundTrip implements http.RoundTripper.
func (s Unchanging) RoundTrip(*http.Request) (*http.Response, error) {
	return Answer(http.StatusOK, io.NopCloser(bytes.NewReader(s))), nil
}

// Answer makes a response with a status code and a body.
func Answer(code int, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: code, Body: body, Header: http.Header{}}
}

// Replying is an API server whose responses come from a function.
type Replying func(r *http.Request) (code int, body string)

// RoundTrip implements http.RoundTripper.
func (f Replying) RoundTrip(r *http.Request) (*http.Response, error) {
	code, body := f(r)
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}, nil
}

// Held returns how much of a kind is in use in an account.
func Held(a *accounts.Account, k accounts.Kind) int { return a.Usage()[k].Used }

// Text returns a JSON string of the given size in bytes.
func Text(size int) []byte { return fmt.Appendf(nil, `"%s"`, bytes.Repeat([]byte("x"), size-2)) }

// SettingsWith returns the default settings with changes by name.
func SettingsWith(t *testing.T, changes map[string]string) *settings.Settings {
	t.Helper()
	s := settings.Default()
	for name, value := range changes {
		if err := s.Set(name, json.RawMessage(value)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Recorded is a server that gives one answer to one patch. It allocates no memory, so a
// benchmark with it counts only what the client allocates.
type Recorded struct {
	Patch  []byte // the expected patch
	Answer []byte
	Served int // number of answers

	sent   bytes.Buffer
	answer http.Response
	reader recordedBody
}

// recordedBody is a body that needs no closing.
type recordedBody struct{ bytes.Reader }

// Close implements io.Closer.
func (*recordedBody) Close() error { return nil }

// RoundTrip implements http.RoundTripper. It refuses other patches.
func (s *Recorded) RoundTrip(r *http.Request) (*http.Response, error) {
	s.sent.Reset()
	if _, err := s.sent.ReadFrom(r.Body); err != nil {
		return nil, err
	}
	if !bytes.Equal(s.sent.Bytes(), s.Patch) {
		return nil, fmt.Errorf("the patch is %s, want %s", s.sent.Bytes(), s.Patch)
	}
	s.Served++
	s.reader.Reset(s.Answer)
	s.answer = http.Response{StatusCode: http.StatusOK, Body: &s.reader, ContentLength: int64(len(s.Answer))}
	return &s.answer, nil
}
