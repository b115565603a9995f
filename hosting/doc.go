// Package hosting keeps one operator running for each declaration: it loads, replaces,
// suspends, restarts and unloads operators of people who do not trust each other, and
// reports their states.
//
// Declarations come from a source: package folder reads them from files, and package objects
// from custom resources. Package identity makes the requests of each operator as its service
// account.
//
// See docs/hosting.md.
package hosting
