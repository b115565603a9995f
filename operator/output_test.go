package operator

import (
	"bytes"
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
		{"severity": "warn", "logger": "kopf.guest", "module": "op.wasm", "lines": 3.0, "message": "3 lines dropped: op.wasm writes more than its LogLimit."},
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
