//go:build wasip1

// Command newer is a guest for a host of the future.
package main

//go:wasmexport kopf_abi_v99
func marker() {}

func main() {}
