//go:build wasip1

// Command foreign is a guest that imports a function of another host.
package main

//go:wasmimport foo bar
func bar()

//go:wasmexport kopf_abi_v1
func marker() {}

//go:wasmexport kopf_alloc
func alloc(uint32) uint32 { return 0 }

//go:wasmexport kopf_register
func register(_, _ uint32) uint64 {
	bar()
	return 0
}

//go:wasmexport kopf_start
func start(_, _, _ uint32) uint64 { return 0 }

func main() {}
