// Package projects writes new operators: a folder with the source, its tests, the resource that
// it handles, a Makefile, and a workflow. All languages and templates handle the same resource.
package projects
