// Package reactortest has guests without WebAssembly, and servers without a cluster, for the
// tests of the reactor.
package reactortest
