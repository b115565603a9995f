package patching_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// writerTo makes a writer for a server that replies.
func writerTo(reply func(*http.Request) (int, string)) *patching.Writer {
	vault := credentials.Of(credentials.Info{Config: &rest.Config{Host: "http://server", Transport: reactortest.Replying(reply)}})
	return &patching.Writer{Client: clients.New(vault, func() clients.Options { return clients.Options{} }, func(string) {})}
}

// configMap is the target of a patch, with its body.
func configMap(t *testing.T, body string) patching.Target {
	t.Helper()
	object, err := dicts.DecodeObject([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	log := zerolog.Nop()
	return patching.Target{Resource: &selectors.Resource{Version: "v1", Plural: "configmaps"}, Raw: []byte(body), Body: object, Log: loggers.Logger{Logger: &log}}
}

// TestComparingCounts: comparing a body with a transformed one takes far longer than small functions that transform it, so it is
// computing of the operator, and so is encoding the patch.
func TestComparingCounts(t *testing.T) {
	body := `{"metadata":{"name":"x","resourceVersion":"1"},"spec":{"text":"` + strings.Repeat("x", 5_000) + `"}}`
	var sent string
	w := writerTo(func(r *http.Request) (int, string) {
		sent = r.Header.Get("Content-Type")
		return http.StatusOK, body
	})
	counted := 0
	target := configMap(t, body)
	target.Work = func(_ context.Context, size int, do func()) {
		if size < 5_000 {
			t.Errorf("a text of %d bytes counts", size)
		}
		counted++
		do()
	}
	p := patching.New(nil)
	p.Add(patching.InPlace(func(body dicts.Object, _ string) error { body["spec"] = "y"; return nil }, ""))
	if _, err := w.Write(t.Context(), target, p, clients.Hooks{}); err != nil || sent != clients.JSONPatch {
		t.Fatalf("sent %q, %v", sent, err)
	}
	if counted != 4 { // to copy the body, to compare it, to encode the patch, and to decode the answer
		t.Errorf("%d pieces of work count, want 4", counted)
	}
	counted, sent = 0, ""
	p = patching.New(nil)
	for range 2 {
		p.Add(patching.ByTask(unchanging{}, nil, target.Work))
	}
	if _, err := w.Write(t.Context(), target, p, clients.Hooks{}); err != nil || sent != "" {
		t.Fatalf("sent %q, %v", sent, err)
	}
	if counted != 7 { // to decode the whole body, to copy it, to encode it and decode the result for each, and to compare them
		t.Errorf("%d pieces of work count with functions of guests, want 7", counted)
	}
}

// unchanging is a task whose functions change nothing.
type unchanging struct{ guests.Task }

func (unchanging) Transform(_ context.Context, body []byte) ([]byte, error) { return body, nil }

func (unchanging) Release(context.Context) {}

// growing is a task whose function adds a text of 10 KB.
type growing struct{ unchanging }

func (growing) Transform(context.Context, []byte) ([]byte, error) {
	return []byte(`{"metadata":{"name":"x","resourceVersion":"1"},"data":{"text":"` + strings.Repeat("x", 10_000) + `"}}`), nil
}

// TestComparingLargeResultsCounts: what the functions return may be megabytes for a small object.
func TestComparingLargeResultsCounts(t *testing.T) {
	const body, large = `{"metadata":{"name":"x","resourceVersion":"1"}}`, 10_000
	w := writerTo(func(*http.Request) (int, string) { return http.StatusOK, body })
	counted := 0
	target := configMap(t, body)
	target.Work = func(_ context.Context, size int, do func()) {
		if size >= large {
			counted++
		}
		do()
	}
	p := patching.New(nil)
	p.Add(patching.ByTask(growing{}, accounts.New(accounts.Limits{}), target.Work))
	defer p.Release(t.Context(), 0)
	if _, err := w.Write(t.Context(), target, p, clients.Hooks{}); err != nil {
		t.Fatal(err)
	}
	if counted != 5 { // to copy the body, to encode it for the function, to decode the result, to compare it, and to encode the patch
		t.Errorf("%d pieces of work count, want 5", counted)
	}
}

// TestManyInconsistencies: a patch of which the server drops everything has a short warning, and comparing counts.
func TestManyInconsistencies(t *testing.T) {
	w := writerTo(func(*http.Request) (int, string) {
		return http.StatusOK, `{"metadata":{"name":"x","resourceVersion":"2"},"status":{}}`
	})
	var output reactortest.Output
	log, counted := zerolog.New(&output).Level(zerolog.WarnLevel), 0
	target := configMap(t, `{"metadata":{"name":"x"}}`)
	target.Log.Logger, target.Work = &log, func(_ context.Context, _ int, do func()) { counted++; do() }
	fields := dicts.Object{}
	for i := range 1000 {
		fields[fmt.Sprint("field", i)] = "1"
	}
	p := patching.New(nil)
	p.Merge.Merge(dicts.Object{"status": fields})
	written, err := w.Write(t.Context(), target, p, clients.Hooks{})
	if err != nil || !written.Dropped || counted != 3 { // to encode the patch, to decode the answer, and to compare them
		t.Errorf("%+v, %d pieces of work, %v", written, counted, err)
	}
	if n := strings.Count(output.String(), "field"); n != 100 {
		t.Errorf("the warning has %d fields", n)
	}
}

// TestRefusedTransformations: a JSON patch that the API server refuses without a newer change never succeeds. It would keep the task of
// its functions and the handlers of the object for ever.
func TestRefusedTransformations(t *testing.T) {
	const body = `{"metadata":{"name":"x","resourceVersion":"5"}}`
	for _, tt := range []struct {
		name, details string
		refused       bool
	}{
		{"the result is invalid", `{"name":"x","kind":"ConfigMap","causes":[{"reason":"FieldValueInvalid","message":"no","field":"spec"}]}`, true},
		{"a newer change", `{}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := writerTo(func(*http.Request) (int, string) {
				return http.StatusUnprocessableEntity, fmt.Sprintf(`{"kind":"Status","status":"Failure","code":422,"reason":"Invalid","message":"x is invalid","details":%s}`, tt.details)
			})
			p := patching.New(nil)
			p.Add(patching.InPlace(func(body dicts.Object, _ string) error { body["spec"] = "y"; return nil }, ""))
			done, err := w.Write(t.Context(), configMap(t, body), p, clients.Hooks{})
			if refused := errors.Is(err, patching.ErrTransformation) && strings.Contains(err.Error(), "x is invalid"); refused != tt.refused || len(done.Remaining) > 0 == tt.refused {
				t.Errorf("%d functions remain, %v", len(done.Remaining), err)
			}
		})
	}
}

// marking is a task whose function makes an invalid object.
type marking struct{ unchanging }

func (marking) Transform(context.Context, []byte) ([]byte, error) {
	return []byte(`{"metadata":{"name":"x","resourceVersion":"5","finalizers":["ours"],"annotations":{"a/b/c":""}}}`), nil
}

// TestRefusedTransformationsBesideTheFinalizer: the handlers of a deletion that is done would be called again, for ever, if the
// finalizer stayed because the API server refuses what one of them wants.
func TestRefusedTransformationsBesideTheFinalizer(t *testing.T) {
	const body = `{"metadata":{"name":"x","resourceVersion":"5","finalizers":["ours"]}}`
	var sent []string
	w := writerTo(func(r *http.Request) (int, string) {
		text, _ := io.ReadAll(r.Body)
		sent = append(sent, string(text))
		if strings.Contains(string(text), "annotations") {
			return http.StatusUnprocessableEntity, `{"kind":"Status","status":"Failure","code":422,"reason":"Invalid","message":"no","details":{"causes":[{"reason":"FieldValueInvalid","message":"no","field":"metadata.annotations"}]}}`
		}
		return http.StatusOK, `{"metadata":{"name":"x","resourceVersion":"6"}}`
	})
	account := accounts.New(accounts.Limits{PatchMemory: 1_000_000})
	p := patching.New([]patching.Transformation{patching.ByTask(marking{}, account, func(_ context.Context, _ int, do func()) { do() })})
	p.Add(patching.InPlace(causes.AllowDeletion, "ours"))
	done, err := w.Write(t.Context(), configMap(t, body), p, clients.Hooks{})
	if !errors.Is(err, patching.ErrTransformation) || len(done.Remaining) > 0 {
		t.Errorf("%d functions remain, %v", len(done.Remaining), err)
	}
	if len(sent) != 2 || !strings.Contains(sent[1], `"remove"`) || !strings.Contains(sent[1], "/metadata/finalizers") {
		t.Errorf("sent: %q", sent)
	}
}

// noting is growing, which notes what is charged when its function runs.
type noting struct {
	growing
	charged *int
	then    *int
}

func (n noting) Transform(ctx context.Context, body []byte) ([]byte, error) {
	*n.then = *n.charged
	return n.growing.Transform(ctx, body)
}

// TestBodiesOfFunctionsCountWhileTheyWait: for the module, and the results for the operator's turn to decode them. The result of one
// function is the body of the next one.
func TestBodiesOfFunctionsCountWhileTheyWait(t *testing.T) {
	const size = 5000
	charged, then := 0, 0
	var waiting []int
	transformation := patching.ByTask(noting{charged: &charged, then: &then}, nil, func(_ context.Context, _ int, do func()) {
		waiting = append(waiting, charged)
		do()
	})
	_, err := transformation.Edit(t.Context(), dicts.Object{"data": strings.Repeat("x", size)}, func(_ *accounts.Account, bytes int) error {
		charged += bytes
		return nil
	})
	if err != nil || then < size || len(waiting) != 2 || waiting[1] < 10_000 || waiting[1] > 10_000+size || charged <= waiting[1] {
		t.Errorf("%v; %d bytes are charged when the function runs, %v before each piece of work, and %d in the end", err, then, waiting, charged)
	}
}
