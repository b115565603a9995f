module github.com/kopf-wasm/kopf/test/guests/go

go 1.23

require (
	github.com/kopf-wasm/kopf/abi v0.0.0
	github.com/kopf-wasm/kopf/guest-sdks/go v0.0.0
)

replace (
	github.com/kopf-wasm/kopf/abi => ../../../abi
	github.com/kopf-wasm/kopf/guest-sdks/go => ../../../guest-sdks/go
)
