// Package guest is the guest's side of the contract in package abi: it answers
// the host's calls (Module), runs every handler as a task in a goroutine of its
// own (Task), and asks the host short questions (Host).
//
// It knows nothing of the types that authors of operators see: package kopf makes
// a Handler of each registration. On wasip1 the exports of the module call a
// Module; in native builds package kopftest does, with a Host of its own.
package guest
