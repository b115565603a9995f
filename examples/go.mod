module github.com/kopf-wasm/kopf/examples

go 1.23

require github.com/kopf-wasm/kopf/guest-sdks/go v0.0.0

require github.com/kopf-wasm/kopf/abi v0.0.0 // indirect

replace (
	github.com/kopf-wasm/kopf/abi => ../abi
	github.com/kopf-wasm/kopf/guest-sdks/go => ../guest-sdks/go
)
