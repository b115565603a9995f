// Package takeover tests that an operator can be moved between the reference, in
// Python, and this project on a live cluster, there and back: nothing is handled
// twice, and what was begun continues.
package takeover
