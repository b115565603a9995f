// Package deployment makes the manifests of an operator: its service account, its rights, and what runs it.
//
// The rights are the least that work: they follow from what the modules register. See
// https://docs.kopf.dev/en/latest/deployment/ (RBAC) and docs/authentication.md, "Rights".
package deployment
