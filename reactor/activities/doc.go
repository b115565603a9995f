// Package activities calls the handlers that belong to no object: startup, cleanup,
// logins, probes, and background handlers of the operator.
//
// Kopf: kopf._core.engines.activities, kopf._core.engines.probing (v1.45).
package activities
