// Package operator joins guests and the reactor into operators. The command line uses it,
// and programs import it to embed operators.
//
// See https://docs.kopf.dev/en/latest/embedding/
package operator
