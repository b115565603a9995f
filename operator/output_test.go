package operator

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator/logs"
)

// TestOutputBecomesRecords: what guests write to their streams is in the log like all else, with where it is from.
func TestOutputBecomesRecords(t *testing.T) {
	var out bytes.Buffer
	o := host.Options{}
	recordOutput(logs.New(&out, logs.Options{Format: logs.JSON}), "op.wasm", &o)
	for _, line := range []string{"one\n", `{"message":"forged"}` + "\n"} {
		if n, err := o.Stderr.Write([]byte(line)); n != len(line) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if _, err := o.Stdout.Write([]byte("two\n")); err != nil {
		t.Error(err)
	}
	o.Dropped(3)
	var got []map[string]any
	for line := range bytes.Lines(out.Bytes()) {
		record := map[string]any{}
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatal(err)
		}
		delete(record, "timestamp")
		got = append(got, record)
	}
	record := func(stream, message string) map[string]any {
		return map[string]any{"severity": "info", "logger": "kopf.guest", "module": "op.wasm", "stream": stream, "message": "op.wasm (" + stream + "): " + message}
	}
	want := []map[string]any{
		record("stderr", "one"), record("stderr", `{"message":"forged"}`), record("stdout", "two"),
		{"severity": "warn", "logger": "kopf.guest", "module": "op.wasm", "lines": 3.0, "message": "3 lines dropped of op.wasm: its operator writes more than LogLimit."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStreamsThatGoElsewhere stay there.
func TestStreamsThatGoElsewhere(t *testing.T) {
	o := host.Options{Stdout: os.Stdout, Stderr: os.Stderr}
	recordOutput(logs.New(&bytes.Buffer{}, logs.Options{}), "op.wasm", &o)
	if o.Stdout != os.Stdout || o.Stderr != os.Stderr {
		t.Error("they are redirected")
	}
}

// talker is a module that writes 30 lines of 100 bytes to standard error when it registers. See
// TestModulesShareABucket of package host, whose module it is.
const talker = "AGFzbQEAAAABHgVgBH9/f38Bf2AAAGABfwF/YAJ/fwF+YAN/f38BfgIjARZ3YXNpX3NuYXBzaG90X3ByZXZpZXcxCGZkX3dyaXRlAAADBQQBAgMEBQMBAAEHQgULa29wZl9hYmlfdjEA" +
	"AQprb3BmX2FsbG9jAAINa29wZl9yZWdpc3RlcgADCmtvcGZfc3RhcnQABAZtZW1vcnkCAAqnAwQCAAsFAEGAIAuQAwBBAkG4F0EBQcAXEAAaQQJBuBdBAUHAFxAAGkECQbgXQQFBwBcQ" +
	"ABpBAkG4F0EBQcAXEAAaQQJBuBdBAUHAFxAAGkECQbgXQQFBwBcQABpBAkG4F0EBQcAXEAAaQQJBuBdBAUHAFxAAGkECQbgXQQFBwBcQABpBAkG4F0EBQcAXEAAaQQJBuBdBAUHAFxAA" +
	"GkECQbgXQQFBwBcQABpBAkG4F0EBQcAXEAAaQQJBuBdBAUHAFxAAGkECQbgXQQFBwBcQABpBAkG4F0EBQcAXEAAaQQJBuBdBAUHAFxAAGkECQbgXQQFBwBcQABpBAkG4F0EBQcAXEAAa" +
	"QQJBuBdBAUHAFxAAGkECQbgXQQFBwBcQABpBAkG4F0EBQcAXEAAaQQJBuBdBAUHAFxAAGkECQbgXQQFBwBcQABpBAkG4F0EBQcAXEAAaQQJBuBdBAUHAFxAAGkECQbgXQQFBwBcQABpB" +
	"AkG4F0EBQcAXEAAaQQJBuBdBAUHAFxAAGkECQbgXQQFBwBcQABpCx4CAgID6AQsKAEKagICAgIACCwuyAgUAQRALR3siaGFuZGxlcnMiOlt7ImtpbmQiOiJjcmVhdGUiLCJpZCI6ImZu" +
	"IiwicmVzb3VyY2UiOnsiYXJncyI6WyJwb2RzIl19fV19AEGAEAsaeyJzdGVwIjoiZG9uZSIsInJlc3VsdCI6MX0AQdAPC0d7ImhhbmRsZXJzIjpbeyJraW5kIjoiY3JlYXRlIiwiaWQi" +
	"OiJmbiIsInJlc291cmNlIjp7ImFyZ3MiOlsicG9kcyJdfX1dfQBBuBcLCBwMAABkAAAAAEGcGAtkeHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4" +
	"eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4Cg=="

// TestModulesOfAnOperatorShareALimit: an operator of two modules writes no more than one of one.
func TestModulesOfAnOperatorShareALimit(t *testing.T) {
	wasm, err := base64.StdEncoding.DecodeString(talker)
	if err != nil {
		t.Fatal(err)
	}
	const perLine = 99 + 16
	var out bytes.Buffer
	op, err := New(t.Context(), Options{
		Modules: []string{"aa.wasm", "bb.wasm"}, Log: logs.New(&out, logs.Options{Format: logs.JSON}),
		Open: func(_ context.Context, name string) (string, []byte, error) {
			return name, bytes.ReplaceAll(wasm, []byte(`"id":"fn"`), []byte(`"id":"`+name[:2]+`"`)), nil
		},
		Host: host.Options{LogLimit: 2 * perLine, CacheDir: t.TempDir()},
	})
	if err != nil {
		t.Fatal(err)
	}
	var dropped int64
	for _, module := range op.Modules() {
		dropped += module.Usage().Dropped
	}
	if err := op.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	written, reported := 0, 0.0
	for line := range bytes.Lines(out.Bytes()) {
		record := map[string]any{}
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatal(err)
		}
		if lines, ok := record["lines"].(float64); ok {
			reported += lines
		} else if record["logger"] == outputLogger {
			written++
		}
	}
	if written < 2 || dropped < 30 || written+int(dropped) != 60 || int64(reported) != dropped || op.options.Host.Output.Dropped() != dropped {
		t.Errorf("%d lines written, %d dropped, %v reported, %d of the operator", written, dropped, reported, op.options.Host.Output.Dropped())
	}
}
