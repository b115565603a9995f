package recordings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/operator/crossings"
	"github.com/kopf-wasm/kopf/operator/guesttest"
	"github.com/kopf-wasm/kopf/reactor/guests"
)

// recordedGuest logs, reads its memo, makes a request, waits, and ends.
func recordedGuest(change func(c *guesttest.Call, answer *abi.Answer) *abi.Step) *guesttest.Guest {
	return &guesttest.Guest{
		Handlers: []abi.Handler{guesttest.Declared(abi.KindCreate, "create_fn", "")},
		Do: map[string]guesttest.Handler{"create_fn": func(c *guesttest.Call, answer *abi.Answer) *abi.Step {
			if change != nil {
				if step := change(c, answer); step != nil {
					return step
				}
			}
			switch c.Steps {
			case 0:
				value, _, _ := c.MemoGet(0, "times")
				c.Log(20, "the memo is "+string(value))
				if _, err := c.MemoSet(0, "times", []byte("2"), 1); err != nil && !errors.Is(err, abi.ErrConflict) {
					return guesttest.Permanent(err.Error())
				}
				return guesttest.Get("/api/v1/secrets/s")
			case 1:
				c.Log(20, "the secret is "+string(answer.Response.Body))
				return guesttest.Wait(60)
			}
			return guesttest.Patch(`{"status":{"old":` + string(c.Segment(abi.TagOld)) + `}}`)
		}},
	}
}

// world answers the guest.
type world struct{ guests.Env }

func (world) Log(int, string)                            {}
func (world) MemoGet(int, string) ([]byte, uint64, bool) { return []byte("1"), 1, true }

func (world) MemoSet(int, string, []byte, int64) (uint64, error) { return 0, abi.ErrConflict }

func (world) Segment(uint32) []byte                      { return []byte(`{"spec":{"token":"hunter22"}}`) }
func (world) Event(abi.Event) error                      { return nil }
func (world) Call(context.Context, *abi.Call) abi.Answer { return abi.Answer{} }

const secret = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"n"},"data":{"password":"cGFzc1wid29yZA=="}}`

// record records some calls of a guest.
func record(t *testing.T, g guests.Guest, calls, limit int) string {
	t.Helper()
	var out bytes.Buffer
	header := Header{Kopf: "1.0", Operator: "op", Modules: []Module{{Name: g.Name(), Digest: "sha256:1", Handlers: []string{"create_fn"}}}}
	r, err := NewRecorder(&out, header, limit, map[string]string{"TOKEN": "hunter22", "SHORT": "abc"})
	if err != nil {
		t.Fatal(err)
	}
	seen := r.Border().Guest(g)
	for range calls {
		inv := &abi.Invocation{ID: "create_fn", Kind: abi.KindCreate, Reason: "create", Name: "a", Namespace: "default"}
		task, step, err := seen.Start(t.Context(), inv, []byte(`{"kind":"KopfExample"}`), world{})
		for err == nil && step.Step != abi.StepDone {
			answer := abi.Answer{}
			if step.Step == abi.StepCall {
				answer.Response = &abi.Response{Status: 200, Body: abi.Raw(secret)}
			}
			step, err = task.Resume(t.Context(), answer)
		}
		if err != nil {
			t.Fatal(err)
		}
		task.Release(t.Context())
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// replay replays a recording, and returns what kopf replay prints.
func replay(t *testing.T, text string, g guests.Guest, secrets map[string]string) string {
	t.Helper()
	file, err := Read(strings.NewReader(text), secrets)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReplay(file)
	if err == nil {
		err = r.Attach([]guests.Guest{g})
	}
	if err != nil {
		t.Fatal(err)
	}
	report, err := r.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := report.Print(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestReplaysRepeatRecordings(t *testing.T) {
	text := record(t, recordedGuest(nil), 3, 0)
	for name, secrets := range map[string]map[string]string{"without secrets": nil, "with secrets": {"TOKEN": "hunter22", "secret/n/s/password": `pass"word`}} {
		if got := replay(t, text, recordedGuest(nil), secrets); got != "3 calls replayed: all as recorded\n" {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

func TestRecordingsHaveNoSecrets(t *testing.T) {
	text := record(t, recordedGuest(nil), 1, 0)
	for _, hidden := range []string{"hunter22", `pass\"word`, "cGFzc1wid29yZA=="} {
		if strings.Contains(text, hidden) {
			t.Errorf("the recording contains %s:\n%s", hidden, text)
		}
	}
	file, err := Read(strings.NewReader(text), map[string]string{"TOKEN": "hunter22"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"TOKEN", "secret/n/s/password"}, file.Footer.Redacted); diff != "" {
		t.Errorf("redacted (-want +got):\n%s", diff)
	}
}

// TestSecretsThatAreUsualWords leave the structure of a recording as it is, and renewed ones
// are hidden, too.
func TestSecretsThatAreUsualWords(t *testing.T) {
	r := newRedaction(map[string]string{"WORD": "secret"})
	r.add("token", "first-token")
	r.add("token", "other-token")
	line := `{"secret":{"a":"x secret y","b":["\\\"secret","first-token other-token"],"secret":1}}`
	want := `{"secret":{"a":"x [redacted:WORD] y","b":["\\\"[redacted:WORD]","[redacted:token] [redacted:token#2]"],"secret":1}}`
	if got := r.hide(line); got != want {
		t.Errorf("hidden:\n%s, want\n%s", got, want)
	}
	back := newRedaction(map[string]string{"WORD": "secret", "token": "first-token", "token#2": "other-token"})
	if got := back.restore(want); got != line {
		t.Errorf("restored:\n%s, want\n%s", got, line)
	}
}

func TestTheFirstDifferenceIsShown(t *testing.T) {
	text := record(t, recordedGuest(nil), 2, 0)
	tests := []struct {
		name   string
		change func(c *guesttest.Call, answer *abi.Answer) *abi.Step
		want   string
	}{
		{"another patch", func(c *guesttest.Call, _ *abi.Answer) *abi.Step {
			if c.Steps == 2 && c.Count == 2 {
				return guesttest.Patch(`{"status":{"old":{"spec":{"token":"[redacted:TOKEN]"}},"phase":"New"}}`)
			}
			return nil
		}, "call 2, create_fn of default/a (create): the step differs\n  + step.patch.status.phase: \"New\"\n"},
		{"one more log message", func(c *guesttest.Call, _ *abi.Answer) *abi.Step {
			if c.Steps == 2 {
				c.Log(20, "done")
			}
			return nil
		}, "call 1, create_fn of default/a (create): the log message in place of a recorded step differs\n" +
			"  + level: 20\n  - step.patch.status.old.spec.token: \"[redacted:TOKEN]\"\n  - step.step: \"done\"\n  + text: \"done\"\n"},
		{"no request", func(c *guesttest.Call, _ *abi.Answer) *abi.Step {
			if c.Steps == 0 {
				return guesttest.Done(abi.Outcome{})
			}
			return nil
		}, "call 1, create_fn of default/a (create): the step in place of a recorded log differs\n" +
			"  - level: 20\n  + step.step: \"done\"\n  - text: \"the memo is 1\"\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, replay(t, text, recordedGuest(tt.change), nil)); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecordingsAreBounded(t *testing.T) {
	text := record(t, recordedGuest(nil), 1000, 10_000)
	if len(text) > 22_000 {
		t.Errorf("the recording has %d bytes", len(text))
	}
	file, err := Read(strings.NewReader(text), nil)
	if err != nil || !file.Footer.Full {
		t.Errorf("full = %v, error %v", file.Footer.Full, err)
	}
	if got := replay(t, text, recordedGuest(nil), nil); !strings.HasSuffix(got, "calls replayed: all as recorded\n") {
		t.Errorf("replay:\n%s", got)
	}
}

func TestDamagedRecordings(t *testing.T) {
	text := record(t, recordedGuest(nil), 1, 0)
	tests := []struct {
		name, text string
		want       error
	}{
		{"empty", "", ErrFormat},
		{"another file", "apiVersion: v1\n", ErrFormat},
		{"other JSON", "{}\n", ErrFormat},
		{"newer", strings.Replace(text, `"kopfRecording":1`, `"kopfRecording":2`, 1), ErrNewer},
		{"cut off in a line", text[:len(text)/2], ErrTruncated},
		{"cut off after a line", text[:strings.Index(text, "\n")+1], ErrTruncated},
		{"without its end", text[:strings.LastIndex(strings.TrimSpace(text), "\n")+1], ErrTruncated},
		{"without a line", text[:strings.Index(text, "\n")+1] + text[strings.LastIndex(strings.TrimSpace(text), "\n")+1:], ErrTruncated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Read(strings.NewReader(tt.text), nil); !errors.Is(err, tt.want) {
				t.Errorf("error = %v, want %v", err, tt.want)
			}
		})
	}
}

func TestRecordingsOfOtherOperatorsAreRefused(t *testing.T) {
	file, err := Read(strings.NewReader(record(t, recordedGuest(nil), 1, 0)), nil)
	if err != nil {
		t.Fatal(err)
	}
	other := &guesttest.Guest{Handlers: []abi.Handler{guesttest.Declared(abi.KindUpdate, "update_fn", "")}}
	err = file.Check([]guests.Guest{other})
	if want := "the recording is of another operator: its module guest has the handlers create_fn, and guest has none of them"; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
	if err = file.Check(nil); err == nil || err.Error() != "the recording is of another operator: it has 1 modules, not 0" {
		t.Errorf("error = %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"kopfRecording":1}` + "\n" + `{"n":1,"k":"start","d":{"invocation":{}}}`)
	f.Fuzz(func(_ *testing.T, text string) {
		file, err := Read(strings.NewReader(text), nil)
		if err != nil && !errors.Is(err, ErrTruncated) {
			return
		}
		if r, err := NewReplay(file); err == nil {
			_, _ = r.Run(context.Background()) // must not panic
		}
	})
}

// TestManySecrets: a guest that sends a new secret with each request does not fill the memory, and is not recorded any more when there
// are too many: nobody could hide them.
func TestManySecrets(t *testing.T) {
	var out bytes.Buffer
	r, err := NewRecorder(&out, Header{}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	see := r.Border().See
	see(crossings.Crossing{Call: 1, What: crossings.Start{Invocation: &abi.Invocation{}}})
	values := make([]string, 2*maxSecrets)
	for i := range values {
		values[i] = fmt.Sprintf("Bearer token%07d", i)
	}
	request := func(values ...string) {
		see(crossings.Crossing{Call: 1, What: crossings.Request{Call: &abi.Call{Headers: map[string][]string{"Authorization": values}}}})
	}
	request(values[:maxSecrets]...)
	request(values[0])
	if n := len(r.redaction.names()); n != maxSecrets || r.full {
		t.Errorf("%d secrets, full: %v", n, r.full)
	}
	request(values[maxSecrets:]...)
	request(strings.Repeat("x", maxSecretSize))
	if n := len(r.redaction.names()); n != maxSecrets || !r.full {
		t.Errorf("%d secrets, full: %v", n, r.full)
	}
	if err := r.Close(); err != nil || strings.Contains(out.String(), "token0") || r.messages != 3 {
		t.Errorf("%d messages, %v", r.messages, err)
	}
}

// TestNewSecretsCostNoMoreThanOldOnes: each request of a guest may have a token of its own.
func TestNewSecretsCostNoMoreThanOldOnes(t *testing.T) {
	r, begun := newRedaction(nil), time.Now()
	for i := range maxSecrets - 1 {
		r.add("token", fmt.Sprintf("token%07d", i))
		r.hide(`{"a":"b"}`)
	}
	if took := time.Since(begun); took > 10*time.Second { // a second or two; it was minutes
		t.Errorf("%d secrets took %v", maxSecrets, took)
	}
	r.add("longer", "a token0000005 and more")
	if got, want := r.hide(`{"a":"token0000005, a token0000005 and more"}`), `{"a":"[redacted:token#6], [redacted:longer]"}`; got != want {
		t.Errorf("hidden:\n%s, want\n%s", got, want)
	}
}

// TestSecretsOfAllForms: secrets in lists, watches, former states and cookies are found, and in the texts of all encoders of JSON.
func TestSecretsOfAllForms(t *testing.T) {
	const data = `"data":{"password":"cGFzc1wid29yZA=="}}` // pass\"word
	answer := func(body string) crossings.Request {
		return crossings.Request{Call: &abi.Call{}, Answer: abi.Answer{Response: &abi.Response{Body: abi.Raw(body)}}}
	}
	headers := func(name, value string) crossings.Request {
		return crossings.Request{Call: &abi.Call{Headers: map[string][]string{name: {value}}}}
	}
	for name, tt := range map[string]struct {
		what   any
		log    string
		hidden []string
	}{
		"list":         {answer(`{"kind":"SecretList","items":[{"metadata":{"name":"s"},` + data + `]}`), "", []string{"cGFzc1wid29yZA"}},
		"verbatim":     {answer(strconv.Quote(secret)), "", []string{"cGFzc1wid29yZA"}},
		"watch":        {answer(strconv.Quote(`{"type":"ADDED","object":` + secret + "}\n" + `{"type":"DELETED","object":` + secret + "}\n")), "", []string{"cGFzc1wid29yZA"}},
		"former state": {crossings.Transform{Body: []byte(`{"kind":"Secret","metadata":{"annotations":{"last":"{\"data\":{\"a\":\"Zm9ybWVyMTIz\"}}"}}}`)}, "former123", []string{"Zm9ybWVyMTIz", "former123"}},
		"cookie":       {headers("Cookie", "session=abcdef123; theme=dark"), "", []string{"abcdef123"}},
		"new cookie":   {headers("Set-Cookie", "session=abcdef123; Path=/"), "", []string{"abcdef123"}},
		"other header": {headers("X-Vault-Token", "abcdef123"), "it is abcdef123", []string{"abcdef123"}},
		"HTML":         {headers("X-Api-Key", `a<b"c&d\e`), `{"key":"a<b\"c&d\\e"}`, []string{"c&d", `c\u0026d`}},
		"ASCII":        {headers("X-Api-Key", "pässwörd"), `{"key":"p\u00e4ssw\u00f6rd"}`, []string{"pässw", "ssw"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			r, err := NewRecorder(&out, Header{}, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			see := r.Border().See
			for _, what := range []any{crossings.Start{Invocation: &abi.Invocation{}}, tt.what, crossings.Log{Message: tt.log}} {
				see(crossings.Crossing{Call: 1, What: what})
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			for _, hidden := range tt.hidden {
				if strings.Contains(out.String(), hidden) {
					t.Errorf("the recording contains %s:\n%s", hidden, out.String())
				}
			}
		})
	}
}
