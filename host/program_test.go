package host

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/guests/native"
)

const registered = `{"sdk": "test", "handlers": [{"kind": "create", "id": "fn", "fn": "fn", "resource": {"args": ["things"]}}]}`

// program is a program at the other end of a connection.
type program struct{ conn net.Conn }

// played is what a program does, as a function of the calls: it answers them, and may ask
// before.
type played func(p *program, call native.Message) (abi.MessageKind, string)

// connect connects to a program that a test plays.
func connect(t *testing.T, o Options, play played) (*Module, error) {
	t.Helper()
	ours, theirs := net.Pipe()
	p := &program{theirs}
	go func() { // Ends with the connection.
		for {
			call, err := native.Read(theirs)
			if err != nil {
				return
			}
			kind, text := abi.MessageAnswer, registered
			if call.Kind != abi.MessageRegister {
				kind, text = play(p, call)
			}
			if kind == 0 {
				_ = theirs.Close()
				return
			}
			if native.Write(theirs, kind, call.Task, []byte(text)) != nil {
				return
			}
		}
	}()
	m, err := Connect(t.Context(), "played", ours, o)
	if err == nil {
		t.Cleanup(func() { _ = m.Close(context.WithoutCancel(t.Context())) })
	}
	return m, err
}

// asked asks the host in the name of a program.
func (p *program) asked(t *testing.T, kind abi.MessageKind, task uint32, data ...[]byte) (int64, string) {
	t.Helper()
	if err := native.Write(p.conn, kind, task, data...); err != nil {
		t.Error(err)
	}
	m, err := native.Read(p.conn)
	if err != nil || m.Kind != abi.MessageResult || len(m.Data) < 8 {
		t.Errorf("got the result %v and the error %v", m, err)
		return 0, ""
	}
	return int64(binary.LittleEndian.Uint64(m.Data)), string(m.Data[8:])
}

func u32Bytes(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }

func TestProgramIsAsked(t *testing.T) {
	t.Parallel()
	m, err := connect(t, Options{}, func(_ *program, call native.Message) (abi.MessageKind, string) {
		if call.Kind == abi.MessageStart {
			return abi.MessageAnswer, `{"step": "wait", "seconds": 1}`
		}
		return abi.MessageAnswer, `{"step": "done", "result": 5}`
	})
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{m.Registration().Handlers[0].ID}
	for range 3 { // all on the one instance, while the first ones wait
		task, step, err := m.Start(t.Context(), &abi.Invocation{}, nil, &testEnv{})
		if err != nil || step.Step != abi.StepWait {
			t.Fatalf("got the step %+v and the error %v", step, err)
		}
		defer task.Release(t.Context())
		step, err = task.Resume(t.Context(), abi.Answer{})
		if err != nil || string(step.Result) != "5" {
			t.Errorf("got the step %+v and the error %v", step, err)
		}
	}
	if diff := cmp.Diff([]string{"fn"}, ids); diff != "" {
		t.Error(diff)
	}
}

func TestProgramAsks(t *testing.T) {
	t.Parallel()
	const long = 5000
	options := Options{Config: map[string]string{"a": "1"}, Secrets: map[string]string{"s": "2"}}
	var got []string
	m, err := connect(t, options, func(p *program, call native.Message) (abi.MessageKind, string) {
		task := call.Task
		note := func(n int64, out string) { got = append(got, strings.TrimSpace(strconv.FormatInt(n, 10)+" "+out)) }
		note(p.asked(t, abi.MessageConfig, 0, []byte("a")))
		note(p.asked(t, abi.MessageConfig, 0, []byte("s")))
		note(p.asked(t, abi.MessageConfig, 0, []byte("none")))
		note(p.asked(t, abi.MessageConfig, 0, make([]byte, long)))
		note(p.asked(t, abi.MessageSegment, task, u32Bytes(99)))
		note(p.asked(t, abi.MessageSegment, task+7, u32Bytes(abi.TagOld)))
		note(p.asked(t, abi.MessageEvent, task, []byte("no JSON")))
		note(p.asked(t, abi.MessageMemoGet, task, u32Bytes(2), []byte("key")))
		note(p.asked(t, abi.MessageMemoSet, task, u32Bytes(0)))
		note(p.asked(t, abi.MessageIndex, task, u32Bytes(0), u32Bytes(1<<31), []byte("name")))
		note(p.asked(t, 0x77, task))
		return abi.MessageAnswer, `{"step": "done"}`
	})
	if err != nil {
		t.Fatal(err)
	}
	task, _, err := m.Start(t.Context(), &abi.Invocation{}, nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	task.Release(t.Context())
	want := []string{"1 1", "1 2", "-1", "-5", "-1", "-6", "-6", "-6", "-6", "-6", "-6"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// TestProgramRequests shows that the answer to a request comes with its result.
func TestProgramRequests(t *testing.T) {
	t.Parallel()
	env := &requestingEnv{}
	var got []string
	m, err := connect(t, Options{}, func(p *program, call native.Message) (abi.MessageKind, string) {
		for _, text := range []string{`{"target":"http","method":"GET","path":"https://x"}`, `[]`} {
			_, answer := p.asked(t, abi.MessageCall, call.Task, []byte(text))
			got = append(got, answer)
		}
		code, _ := p.asked(t, abi.MessageSegment, call.Task, u32Bytes(abi.TagAnswer))
		got = append(got, strconv.FormatInt(code, 10))
		return abi.MessageAnswer, `{"step": "done"}`
	})
	if err != nil {
		t.Fatal(err)
	}
	task, _, err := m.Start(t.Context(), &abi.Invocation{}, nil, env)
	if err != nil {
		t.Fatal(err)
	}
	task.Release(t.Context())
	if len(env.calls) != 1 || len(got) != 3 || !strings.Contains(got[0], `"status":201`) || !strings.Contains(got[1], `"type":"Invalid"`) || got[2] != "-1" {
		t.Errorf("requests %+v, answers %q", env.calls, got)
	}
}

// TestProgramsMayRequestAfterBreakpoints: a request is no end of a call that has taken longer than ComputeLimit.
func TestProgramsMayRequestAfterBreakpoints(t *testing.T) {
	t.Parallel()
	env := &requestingEnv{}
	m, err := connect(t, Options{ComputeLimit: time.Millisecond}, func(p *program, call native.Message) (abi.MessageKind, string) {
		time.Sleep(10 * time.Millisecond)
		p.asked(t, abi.MessageCall, call.Task, []byte(`{"target":"http","method":"GET","path":"https://x"}`))
		return abi.MessageAnswer, `{"step": "done"}`
	})
	if err != nil {
		t.Fatal(err)
	}
	task, _, err := m.Start(t.Context(), &abi.Invocation{}, nil, env)
	if err != nil || len(env.calls) != 1 {
		t.Fatalf("%d requests, %v", len(env.calls), err)
	}
	task.Release(t.Context())
}

// TestProgramsMayLookExhausted: what tells of a want of memory in a module means nothing in a
// native program, whose memory the host does not know.
func TestProgramsMayLookExhausted(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		`{"step": "wait"}`,
		`{"step": "done", "error": {"kind": "arbitrary", "type": "MemoryError", "message": "of the author"}}`,
		`{"step": "done", "error": {"kind": "arbitrary", "type": "Error", "message": "null"}}`,
	} {
		m, err := connect(t, Options{}, func(*program, native.Message) (abi.MessageKind, string) { return abi.MessageAnswer, answer })
		if err != nil {
			t.Fatal(err)
		}
		task, step, err := m.Start(t.Context(), &abi.Invocation{}, nil, &testEnv{})
		if err != nil {
			t.Fatal(err)
		}
		if e := step.Error; e != nil && !strings.Contains(answer, `"`+e.Message+`"`) {
			t.Errorf("%s became %+v", answer, e)
		}
		task.Release(t.Context())
	}
}

func TestProgramPanics(t *testing.T) {
	t.Parallel()
	m, err := connect(t, Options{}, func(_ *program, call native.Message) (abi.MessageKind, string) {
		return abi.MessagePanicked, "panicked: why not\nmain.rs:1"
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // it survives
		_, _, err = m.Start(t.Context(), &abi.Invocation{}, nil, &testEnv{})
		var failure *GuestError
		if !errors.As(err, &failure) || failure.Message != "panicked: why not" || failure.Stack != "main.rs:1" || errors.Is(err, abi.ErrInstanceLost) {
			t.Errorf("got the error %v", err)
		}
	}
}

func TestProgramFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		play played
		says string
	}{
		"it ends":          {func(*program, native.Message) (abi.MessageKind, string) { return 0, "" }, "the program has ended"},
		"it answers trash": {func(*program, native.Message) (abi.MessageKind, string) { return abi.MessageAnswer, "trash" }, "broken message"},
		"it boasts": {func(p *program, _ native.Message) (abi.MessageKind, string) {
			_, _ = p.conn.Write(abi.MessageHeader{Kind: abi.MessageAnswer, Size: 1 << 31}.Append(nil)) // the host has gone
			return 0, ""
		}, "the limit is 67108864"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := connect(t, Options{}, tt.play)
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = m.Start(t.Context(), &abi.Invocation{}, nil, &testEnv{})
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got the error %v", err)
			}
			if _, _, err = m.Start(t.Context(), &abi.Invocation{}, nil, &testEnv{}); !errors.Is(err, abi.ErrInstanceLost) {
				t.Errorf("then the error %v", err)
			}
		})
	}
}

// TestProgramAtABreakpoint: nothing limits it, until the operator ends.
func TestProgramAtABreakpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := connect(t, Options{ComputeLimit: time.Second, StopGrace: time.Second}, func(p *program, _ native.Message) (abi.MessageKind, string) {
			_, _ = native.Read(p.conn) // until the host hangs up
			return 0, ""
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		if _, _, err = m.Start(ctx, &abi.Invocation{}, nil, &testEnv{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got the error %v", err)
		}
		if took := time.Since(began); took != time.Hour+time.Second {
			t.Errorf("it took %v", took)
		}
		<-m.Gone()
		_ = m.Close(context.WithoutCancel(t.Context())) // the connection is closed already
	})
}
