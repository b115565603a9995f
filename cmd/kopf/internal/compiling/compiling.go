// Package compiling lets the program compile modules in separate processes, which are the program
// itself. Main programs import it for this effect.
//
// Such a process needs neither clients of Kubernetes nor verifiers of signatures, whose packages
// take two fifths of its initialisation. Go initialises packages in the order of their import paths, as
// far as their imports allow. So this package is initialised before most of them
// (TestCompilerIsEarly), and in such a process it does not return.
//
// See RATIONALE.md, "Why does the compiling process start before there is anything to compile?"
package compiling

import "github.com/kopf-wasm/kopf/host/compiler"

func init() { compiler.Main() }
