// Package reactortest provides guests without WebAssembly, and servers without a cluster,
// for tests of the reactor.
package reactortest
