module github.com/kopf-wasm/kopf/abi

go 1.23
