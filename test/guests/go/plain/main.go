// Command plain is a WebAssembly module that is no guest: it lacks the marker.
package main

func main() {}
