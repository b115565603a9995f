// Package admission answers requests of the API server with the handlers of an operator:
// reviews of objects, and conversions between versions. The servers are in package
// webhooks.
//
// Kopf: kopf._core.engines.admission (v1.45).
package admission
