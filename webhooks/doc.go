// Package webhooks makes the handlers of an operator reachable for the API server. It
// accepts admission and conversion reviews over HTTPS, with generated or given certificates.
// It maintains the webhook configurations in the cluster. An Operator decides the reviews.
//
// Kopf: kopf._core.engines.admission, kopf._kits.webhooks (v1.45);
// https://docs.kopf.dev/en/latest/admission/
package webhooks
