// Package endpoints serves what a host says about itself and its operators: /livez, /readyz,
// /metrics, the page /statusz, and the logs and retries of operators.
//
// On an address that only the host's machine can reach, everything is open. On other
// addresses, everything except the probes needs a token, which the API server reviews.
//
// See docs/hosting.md.
package endpoints
