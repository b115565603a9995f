package host

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/internal/asm"
)

var update = flag.Bool("update", false, "write the golden files")

// transcriptFile is what abi/SPEC.md shows to authors of SDKs.
const transcriptFile = "../abi/testdata/v1/transcript.txt"

// transcribed is a guest that keeps each message of the host: each allocation begins
// where the page before it ends. It waits once, then it is done.
type transcribed struct {
	t     *testing.T
	out   strings.Builder
	pages int // of messages so far
}

// Where the guest keeps its answers and the messages, and how much each may take.
const (
	transcribedAnswers  = 1024
	transcribedMessages = 8192
	transcribedPage     = 1024
)

func (g *transcribed) guest() asm.Module {
	const registration = `{"handlers":[{"kind":"create","id":"create_fn","resource":{"args":["kopf.dev","v1","kopfexamples"]}}]}`
	const wait, done = `{"step":"wait","seconds":0.5}`, `{"step":"done","result":{"waited":true},"patch":{"status":{"seen":true}}}`
	at := func(i int) int { return transcribedAnswers + i*256 }
	m := asm.Guest(nil)
	m.Globals = [][]byte{asm.Cat([]byte{asm.I32, 1}, asm.I32Const(transcribedMessages-transcribedPage), asm.End)}
	m.Data = []asm.Data{{Offset: int32(at(0)), Bytes: registration}, {Offset: int32(at(1)), Bytes: wait}, {Offset: int32(at(2)), Bytes: done}}
	call := []byte{asm.I32, asm.I32, asm.I32}
	return m.With(asm.Func{
		Export: "kopf_alloc", Params: []byte{asm.I32}, Results: []byte{asm.I32},
		Code: asm.Cat(asm.GlobalGet(0), asm.I32Const(transcribedPage), asm.I32Add, asm.GlobalSet(0), asm.GlobalGet(0)),
	}).
		With(asm.Func{Export: "kopf_register", Params: call[:2], Results: []byte{asm.I64}, Code: asm.Text(at(0), registration)}).
		With(asm.Func{Export: "kopf_start", Params: call, Results: []byte{asm.I64}, Code: asm.Text(at(1), wait)}).
		With(asm.Func{Export: "kopf_resume", Params: call, Results: []byte{asm.I64}, Code: asm.Text(at(2), done)}).
		With(asm.Func{Export: "kopf_cancel", Params: call[:1]})
}

// call writes down a call: what the host has written into the memory of the guest, and the answer.
func (g *transcribed) call(in *instance, export, arguments string, answer asm.Data) {
	g.t.Helper()
	ptr := transcribedMessages + g.pages*transcribedPage
	g.pages++
	page, ok := in.mod.Memory().Read(uint32(ptr), transcribedPage)
	message := bytes.TrimRight(page, "\x00") // all messages end with a brace
	text, found := in.mod.Memory().Read(uint32(answer.Offset), uint32(len(answer.Bytes)))
	if !ok || !found || len(message) == 0 || string(text) != answer.Bytes {
		g.t.Fatalf("%s: the message %q, the answer %q", export, message, text)
	}
	fmt.Fprintf(&g.out, "kopf_alloc(%d) -> %#x\nmemory at %#x, written by the host:\n%s", len(message), ptr, ptr, hex.Dump(message))
	fmt.Fprintf(&g.out, "%s(%s%#x, %d) -> %#x\nmemory at %#x, read by the host, %d bytes:\n%s\n\n",
		export, arguments, ptr, len(message), uint64(answer.Offset)<<32|uint64(len(answer.Bytes)), answer.Offset, len(text), text)
}

// TestTranscript: all bytes that cross the border in one invocation, from the registration to
// the end of a handler that waits. A change of the file is a change of the ABI.
func TestTranscript(t *testing.T) {
	g := &transcribed{t: t}
	m, err := load(t, g.guest().Encode(), Options{Config: map[string]string{"COLOR": "blue"}})
	if err != nil {
		t.Fatal(err)
	}
	inv := &abi.Invocation{
		Kind: abi.KindCreate, ID: "create_fn", Name: "obj1", Namespace: "ns1", UID: "uid-1", Reason: "create",
		Started:  "2020-01-01T00:00:00.000000+00:00",
		Resource: &abi.ResourceInfo{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true, Preferred: true},
	}
	body := []byte(`{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"obj1","namespace":"ns1","uid":"uid-1"},"spec":{"field":"value"}}`)
	task, step, err := m.Start(t.Context(), inv, body, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	if step.Step != abi.StepWait {
		t.Fatalf("the first step is %q", step.Step)
	}
	in := task.in
	if step, err = task.Resume(t.Context(), abi.Answer{}); err != nil || step.Step != abi.StepDone {
		t.Fatalf("the second step is %v, %v", step, err)
	}
	answers, number := g.guest().Data, fmt.Sprintf("%d, ", task.id)
	g.call(in, "kopf_register", "", answers[0])
	g.call(in, "kopf_start", number, answers[1])
	g.call(in, "kopf_resume", number, answers[2])
	if *update {
		if err := os.WriteFile(transcriptFile, []byte(g.out.String()), 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(transcriptFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), g.out.String()); diff != "" {
		t.Errorf("the transcript (-%s +got):\n%s", transcriptFile, diff)
	}
}
