// Package memory runs guests in C, C++ and AssemblyScript that use up their memory. Those in other
// languages are next to the tests of their SDKs and engines.
package memory

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
)

// env answers nothing: the guests ask for nothing.
type env struct{}

func (env) Log(int, string)                                    {}
func (env) Segment(uint32) []byte                              { return nil }
func (env) Stopped() int                                       { return 0 }
func (env) Event(abi.Event) error                              { return abi.ErrDenied }
func (env) MemoGet(int, string) ([]byte, uint64, bool)         { return nil, 0, false }
func (env) MemoSet(int, string, []byte, int64) (uint64, error) { return 0, abi.ErrDenied }
func (env) Index(int, string, []byte) ([]byte, error)          { return nil, abi.ErrAbsent }

// TestMemoryExhaustionIsNamed: these guests have no words for it, and their traps no names.
func TestMemoryExhaustionIsNamed(t *testing.T) {
	for _, language := range []string{"c", "cpp", "assemblyscript"} {
		t.Run(language, func(t *testing.T) {
			wasm, err := os.ReadFile("../../../.cache/guests/memory-" + language + ".wasm")
			if errors.Is(err, os.ErrNotExist) && os.Getenv("CI") != "true" {
				t.Skip("SKIPPED: the guest is not built. `make guests` builds it, or says what is missing")
			}
			if err != nil {
				t.Fatal(err)
			}
			m, err := host.Load(t.Context(), "op.wasm", wasm, host.Options{CacheDir: t.TempDir(), MaxMemory: 16 << 20})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close(t.Context())
			_, _, err = m.Start(t.Context(), &abi.Invocation{Kind: abi.KindCreate, ID: "create_fn", Name: "obj1"}, []byte(`{}`), env{})
			var failure *host.GuestError
			if !errors.As(err, &failure) || !errors.Is(err, host.ErrMemory) || !errors.Is(err, host.ErrTrap) {
				t.Fatalf("error = %v", err)
			}
			for _, want := range []string{"out of memory: the instance uses ", " MiB, asks for ", " MiB more, and the limit MaxMemory is 16.0 MiB: trapped: unreachable"} {
				if !strings.Contains(failure.Message, want) {
					t.Errorf("message %q, want %q", failure.Message, want)
				}
			}
		})
	}
}
