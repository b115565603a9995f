package panics_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/panics"
)

func compare(a, b any) (equal bool, err error) {
	defer panics.Recover(&err)
	return a == b, nil
}

func TestRecover(t *testing.T) {
	if equal, err := compare(1, 1); !equal || err != nil {
		t.Errorf("got %v, %v", equal, err)
	}
	_, err := compare(map[string]any{}, map[string]any{})
	if err == nil || !strings.HasPrefix(err.Error(), "a defect of the host: runtime error: comparing uncomparable type") {
		t.Errorf("got %v", err)
	}
	if stack := panics.StackOf(fmt.Errorf("it failed: %w", err)); !strings.Contains(stack, "panics_test.compare") {
		t.Errorf("got the stack %q", stack)
	}
	if stack := panics.StackOf(errors.New("another error")); stack != "" {
		t.Errorf("got the stack %q", stack)
	}
}
