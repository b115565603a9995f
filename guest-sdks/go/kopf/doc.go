// Package kopf is for operators in Go that run as WebAssembly modules in Kopf.
// An operator is a few plain functions:
//
//	package main
//
//	import "github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
//
//	func init() { kopf.OnCreate("kopfexamples", createFn) }
//
//	func createFn(c *kopf.Change) (any, error) {
//		c.Log.Info("a new object", "field", c.Spec.Get("field"))
//		c.Patch.Status.Set("seen", true)
//		return kopf.Map{"message": "hello"}, nil
//	}
//
//	func main() {}
//
// Build it with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o op.wasm .
//
// and run it with "kopf run op.wasm -n default".
//
// # Handlers
//
// A handler is registered in an init function of package main (or in a function
// given to Setup, if the registration depends on the configuration). It gets one
// argument with everything there is to know, and returns a result and an error. The
// result is stored in the status of the object, under the id of the handler; nil
// stores nothing. The type of the error decides whether the handler is retried: see Temporary, Permanent.
//
// The options of a registration are functions, see Option. Options that do not fit the kind of the
// handler do not compile.
//
// What handlers see of an object is a View: the body stays the bytes that came from
// the API server, and only what is asked for is decoded. Decode makes a type of
// your own of any view:
//
//	spec, err := kopf.Decode[VolumeSpec](c.Spec)
//
// # Waiting
//
// A module has one thread. Handlers wait with Sleep, Wait and Execute, which let
// the host continue with other work, even for days. time.Sleep works too, but stops all
// tasks of the instance meanwhile. Goroutines that a handler starts run while one
// of the handlers of the instance runs, and make no progress otherwise: have none
// left when the handler returns.
//
// # Tests
//
// Handlers are ordinary functions: package kopftest makes their arguments for
// go test, without a cluster and without WebAssembly.
package kopf
