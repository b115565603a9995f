package frames

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFramesOfSDKsAreFolded(t *testing.T) {
	tests := []struct{ name, stack, want string }{
		{
			"a panic in Go",
			`goroutine 7 [running]:
main.deeper(0x1, {0x2, 0x3})
	/src/operator.go:31 +0x2
main.create(0xc0)
	/src/operator.go:12 +0x5
github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest.(*call).run(0xc0)
	/sdk/guest/call.go:88 +0x1a
github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest.start.func1()
	/sdk/guest/start.go:20 +0x1
runtime.goexit({})
	/go/src/runtime/asm_wasm.s:434 +0x1
created by github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest.start in goroutine 1
	/sdk/guest/start.go:19 +0x2`,
			`goroutine 7 [running]:
main.deeper(0x1, {0x2, 0x3})
	/src/operator.go:31 +0x2
main.create(0xc0)
	/src/operator.go:12 +0x5
… 4 frames of the SDK`,
		},
		{
			"a trap in Go",
			`kopf:host.yield() i64
.main.loop(i32) i32
.main.run(i32) i32
.github.com_kopf_wasm_kopf_guest_sdks_go_internal_guest._ptr_call_.run(i32) i32
.runtime.goexit(i32) i32
.wasm_pc_f_loop()
.kopf_start(i32,i32,i32) i64`,
			`kopf:host.yield() i64
.main.loop(i32) i32
.main.run(i32) i32
… 4 frames of the SDK`,
		},
		{
			"a trap in Rust",
			`.rust_begin_unwind(i32)
.core::panicking::panic_fmt(i32,i32)
.<core::option::Option<T>>::unwrap(i32) i32
.operator::create_fn::{closure#0}(i32,i32)
.<operator::Job as core::future::future::Future>::poll(i32,i32)
.kopf::runtime::poll(i32) i32
.kopf_start(i32,i32,i32) i64`,
			`… 3 frames of the SDK
.operator::create_fn::{closure#0}(i32,i32)
.<operator::Job as core::future::future::Future>::poll(i32,i32)
… 2 frames of the SDK`,
		},
		{
			"a traceback of Python, whose SDK has left its frames out",
			"Traceback (most recent call last):\n  File \"operator.py\", line 7, in create_fn\n    raise ValueError(runtime.text())\nValueError: bad",
			"Traceback (most recent call last):\n  File \"operator.py\", line 7, in create_fn\n    raise ValueError(runtime.text())\nValueError: bad",
		},
		{"JavaScript, likewise", "    at inner (operator.js:3:9)\n    at createFn (operator.js:7:3)", "    at inner (operator.js:3:9)\n    at createFn (operator.js:7:3)"},
		{"nothing", "", ""},
		{"only an SDK", "runtime.a()\nruntime.b()", "runtime.a()\nruntime.b()"},
		{
			"goroutines of the runtime", "fatal error: x\n\ngoroutine 1 [running]:\nmain.f()\n\ngoroutine 2 gp=0x2 [GC worker (idle)]:\nruntime.a()\n\t/x\nruntime.b()\n\t/y\n\ngoroutine 3 [select]:\nmain.g()",
			"fatal error: x\n\ngoroutine 1 [running]:\nmain.f()\n\ngoroutine 3 [select]:\nmain.g()",
		},
		{
			"a handler of the Go SDK, which is a coroutine", "main.createFn(...)\ngithub.com/kopf-wasm/kopf/guest-sdks/go/internal/guest.(*worker).run(...)\niter.Pull[...].func1(...)\nruntime.corostart()",
			"main.createFn(...)\n… 3 frames of the SDK",
		},
		{"messages", "panic: runtime.x is (not) right: (\n\nruntime.a()", "panic: runtime.x is (not) right: (\n\nruntime.a()"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Fold(tt.stack)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again := Fold(got); again != got {
				t.Errorf("folded again:\n%s", again)
			}
		})
	}
}

func TestNamesOfRustAreAsInTheSource(t *testing.T) {
	for mangled, want := range map[string]string{
		".main.run(i32)": ".main.run(i32)",
		"._RNvCsgStHSCytQ6I_8operator9create_fn(i32,i32)":                                          ".operator::create_fn(i32,i32)",
		"._RNCNvCsgStHSCytQ6I_8operator9create_fn0(i32)":                                           ".operator::create_fn::{closure#0}(i32)",
		"._ZN8operator9create_fn17h0123456789abcdefE(i32,i32)":                                     ".operator::create_fn(i32,i32)",
		"._ZN8operator9create_fn28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE(i32)":           ".operator::create_fn::{{closure}}(i32)",
		"_ZN50_$LT$operator..Job$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE at (i32)": "<operator::Job as core::fmt::Debug>::fmt at (i32)",
		"_ZNSt6vectorIiE4sizeEv(i32)":                                                              "_ZNSt6vectorIiE4sizeEv(i32)",
		"_ZN99operator17h0123456789abcdefE":                                                        "_ZN99operator17h0123456789abcdefE",
		"_ZN8operator9create_fnE":                                                                  "_ZN8operator9create_fnE",
		"_R_of_an_author(i32)":                                                                     "_R_of_an_author(i32)",
		"my_RNvCsgStHSCytQ6I_8operator9create_fn(i32)":                                             "my_RNvCsgStHSCytQ6I_8operator9create_fn(i32)",
		"_ZN" + strings.Repeat("1a", 300) + "E(i32) long":                                          "_ZN" + strings.Repeat("1a", 300) + "E(i32) long",
	} {
		if got := Demangle(mangled); got != want {
			t.Errorf("%s\n got %s\nwant %s", mangled, got, want)
		}
	}
}

// TestHostileNamesStaySmall: each pair in the name doubles what the pair before it stands for.
func TestHostileNamesStaySmall(t *testing.T) {
	name := "_RIC1aTuuE"
	for range 60 {
		name += "TB4_B4_E"
	}
	name += "E"
	for _, hostile := range []string{name, "_RNvB_1a", "_RNvB0_1a", "_R" + strings.Repeat("I", 400), "_RYYYYYYYY", "_RINvC1a1bKc110000_E"} {
		if got := Demangle(hostile + "(i32)"); len(got) > 2048 {
			t.Errorf("%.30s: %d bytes", hostile, len(got))
		}
	}
}

func FuzzStacks(f *testing.F) {
	f.Add("._RNvCsgStHSCytQ6I_8operator9create_fn(i32,i32)\nruntime.a()\n\tx\nruntime.b()\n")
	f.Add("_ZN8operator9create_fn17h0123456789abcdefE")
	f.Fuzz(func(t *testing.T, stack string) {
		plain := Demangle(stack)
		if strings.Count(plain, "\n") != strings.Count(stack, "\n") {
			t.Errorf("a name has become lines: %q", plain)
		}
		if folded := Fold(stack); strings.Count(folded, "\n") > strings.Count(stack, "\n") {
			t.Errorf("more lines: %q", folded)
		}
	})
}
