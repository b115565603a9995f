// Package tinygo tests what is special about modules that TinyGo builds. Its tests need
// tinygo in PATH and the build tag interop: `make test` runs them where there is one.
package tinygo
