// Package patching changes objects in the cluster: a patch is fields to merge, then
// transformations on top of them, and takes up to four requests.
//
// Kopf: kopf.Patch, kopf._cogs.clients.patching (v1.45).
package patching
