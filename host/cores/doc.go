// Package cores bounds the guests of all modules that compute at once to the number of processors.
// More of them would not be faster, and would need more instances in each burst. A guest that
// computes for long passes its core on after each slice. A guest that sleeps gives it up.
//
// See RATIONALE.md, "How do operators share the processors?".
package cores
