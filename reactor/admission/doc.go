// Package admission answers requests of the API server with the handlers of an operator:
// reviews of objects, and their conversion between versions. Package webhooks has the servers.
//
// Kopf: kopf._core.engines.admission (v1.45).
package admission
