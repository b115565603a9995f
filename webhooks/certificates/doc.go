// Package certificates provides the certificate of a webhook server: one from files, a
// generated one, or one that the replicas of an operator share in a secret. It renews what it
// has made, and reads files and secrets again, while the server runs.
package certificates
