// Package resident lowers the memory of a process that waits.
package resident

// Release removes the pages of the program's code and constants from the memory of the process.
// The start of a process touches most of them, and later work a third. Pages that are needed
// again come from the page cache of the system, sixteen with each fault; nothing is lost, as
// they are never written. It returns the size of what was released, in bytes, resident or not.
//
// It does nothing on systems other than Linux, and keeps the parts that a debugger has changed.
func Release() (bytes uint64, err error) { return release(false) }

// ReleaseCode is Release for the program's code alone. The phases of a start run different code,
// but need most of the constants, which include the tables of the runtime.
func ReleaseCode() (bytes uint64, err error) { return release(true) }
