// Command plain is a WebAssembly module that is not a guest: it lacks the marker.
package main

func main() {}
