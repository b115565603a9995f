module github.com/kopf-wasm/kopf/guest-sdks/go

go 1.23

require github.com/kopf-wasm/kopf/abi v0.0.0

replace github.com/kopf-wasm/kopf/abi => ../../abi
