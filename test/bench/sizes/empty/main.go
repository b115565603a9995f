// Command empty is a module of Go that does nothing: what the language takes.
package main

func main() {}
