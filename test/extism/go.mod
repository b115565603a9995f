module github.com/kopf-wasm/kopf/test/extism

go 1.26.0

require (
	github.com/extism/go-sdk v1.7.1
	github.com/google/go-cmp v0.7.0
	github.com/kopf-wasm/kopf v0.0.0
	github.com/kopf-wasm/kopf/abi v0.0.0
	github.com/tetratelabs/wazero v1.12.0
)

require (
	github.com/dylibso/observe-sdk/go v0.0.0-20240819160327-2d926c5d788a // indirect
	github.com/gobwas/glob v0.2.3 // indirect
	github.com/ianlancetaylor/demangle v0.0.0-20240805132620-81f5be970eca // indirect
	github.com/tetratelabs/wabin v0.0.0-20230304001439-f6f874872834 // indirect
	go.opentelemetry.io/proto/otlp v1.7.1 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/time v0.15.0 // indirect
	google.golang.org/protobuf v1.36.12-0.20260120151049-f2248ac996af // indirect
)

replace (
	github.com/kopf-wasm/kopf => ../..
	github.com/kopf-wasm/kopf/abi => ../../abi
	github.com/kopf-wasm/kopf/guest-sdks/go => ../../guest-sdks/go
)
