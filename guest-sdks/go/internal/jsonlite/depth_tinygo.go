//go:build tinygo

package jsonlite

// maxDepth is the deepest nesting that is decoded or encoded. Goroutines of TinyGo have stacks
// of 64 KiB, which do not grow: what does not fit overwrites other memory, unnoticed. One level
// takes up to 650 bytes, so that the deepest value leaves 24 KiB of a stack. A level is an
// object, a list, or a pointer in a type. See test/tinygo.
const maxDepth = 60
