package main

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
)

// native stands for a guest that runs natively, at the other end of standard input. The SDKs
// start kopf with it.
const native = "-"

// program returns the connection to a native guest, or nil if there are modules.
func (o *runOptions) program() (io.ReadWriteCloser, error) {
	if !slices.Contains(o.modules, native) {
		return nil, nil
	}
	switch {
	case len(o.modules) > 1:
		return nil, usageError{errors.New("- is the whole operator: it cannot be combined with modules")}
	case o.demanded() || o.trust != "":
		return nil, usageError{errors.New("- is a native program, which cannot be verified: run the module instead")}
	}
	conn, err := net.FileConn(os.Stdin)
	if err != nil {
		return nil, usageError{errors.New("- is for programs that the SDKs run natively, like `go run . -n default`: standard input is no connection with one")}
	}
	o.modules = nil
	return conn, nil
}
