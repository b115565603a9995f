package host

import (
	"context"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
)

func TestDone(t *testing.T) {
	m := loadGo(t, Options{})
	task, step, err := m.Start(context.Background(), invoke("body"), []byte(`{"metadata":{"name":"obj1"}}`), &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	defer task.Release(context.Background())
	if step.Step != abi.StepDone || string(step.Result) != `"obj1"` {
		t.Errorf("step = %+v", step)
	}
}
