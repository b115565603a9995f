// Package processing handles one event of one object. A cycle first finds out what has
// happened, and calls the handlers that are due (decision.go, changes.go); then the worker of
// the object patches it, sleeps, or reads it again (cycle.go).
//
// Kopf: kopf._core.reactor.processing, kopf._core.reactor.inventory (v1.45).
package processing
