// Package activities calls the handlers that belong to no object: of the startup, the
// cleanup, logins, probes, and those that run in the background of the operator.
//
// Kopf: kopf._core.engines.activities, kopf._core.engines.probing (v1.45).
package activities
