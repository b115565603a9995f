// Package patching changes objects in the cluster. A patch consists of fields to merge and
// of transformations that run afterwards. It takes up to four requests.
//
// Kopf: kopf.Patch, kopf._cogs.clients.patching (v1.45).
package patching
