// Package crowd divides the memory and the slots of a webhook server between its clients: many, slow or
// silent ones get no more than what others leave. Clients are distinguished by their addresses.
package crowd
