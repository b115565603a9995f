//go:build !tinygo

package jsonlite

// maxDepth is the deepest nesting that is decoded or encoded. Stacks grow as they need to.
const maxDepth = 1000
