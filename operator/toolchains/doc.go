// Package toolchains builds operators: it finds the language of a folder, the tools that
// compile this language to WebAssembly, and runs them. What compilers print reaches the author
// unchanged.
package toolchains
