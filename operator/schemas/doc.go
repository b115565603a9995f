// Package schemas makes CustomResourceDefinitions of the types that operators declare for the
// specs of their resources. It reads the source of the types, in Go or Rust, so that modules
// carry nothing for it.
package schemas
