package abi

// Stop reasons of daemons: bits of the host function stopped. They combine.
//
// Kopf: kopf.DaemonStoppingReason (v1.45).
const (
	StopDone            = 1 << iota // the daemon ended by itself
	StopFiltersMismatch             // the object does not match the filters any more
	StopResourceDeleted             // the object is being deleted
	StopOperatorPausing             // another operator took over
	StopOperatorExiting             // the operator exits
	StopDaemonSignalled             // asked to stop
	StopDaemonCancelled             // cancelled
	StopDaemonAbandoned             // given up
)

// stopNames are the names of the bits, from the lowest one.
var stopNames = [...]string{
	"done", "filters_mismatch", "resource_deleted", "operator_pausing",
	"operator_exiting", "daemon_signalled", "daemon_cancelled", "daemon_abandoned",
}

// StopNames lists the reasons in a set of bits, as they are spelled in messages.
func StopNames(bits int) []string {
	var names []string
	for i, name := range stopNames {
		if bits&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}
