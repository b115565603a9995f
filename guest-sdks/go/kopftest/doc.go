// Package kopftest is for unit tests of handlers, in plain go test: no cluster and
// no WebAssembly. A Host makes arguments for handlers and notes what they do:
//
//	func TestCreate(t *testing.T) {
//		host := kopftest.New(t)
//		c := host.Change(kopftest.Fixture{Body: kopf.Map{"spec": kopf.Map{"size": 5}}})
//		result, err := createFn(c)
//		// look at result, err, c.Patch.Map(), host.Logs, host.Events
//	}
//
// Handlers with sub-handlers are run with Host.Run, which runs those too. Waits end at
// once and are noted. Filters are called with Host.Cause.
package kopftest
