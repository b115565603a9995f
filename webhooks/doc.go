// Package webhooks is the admission side of operators: what the API server is told
// about the webhooks of handlers, and how their outcomes become answers to reviews.
// So far it has the pure parts; there is no server yet.
//
// Kopf: kopf._core.engines.admission (v1.45); https://docs.kopf.dev/en/latest/admission/
package webhooks
