// Package output bounds what guests write to the log and to their standard streams, and makes whole
// lines of it, in which nothing controls a terminal.
package output
