package compiler

import "os"

// thisProgram is the file of the running program.
func thisProgram() (string, error) { return os.Executable() }

func firstToDie() {}

// dataNow is not known: the limit counts all of it.
func dataNow() uint64 { return 0 }
