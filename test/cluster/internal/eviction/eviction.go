// Package eviction takes the place of k8s.io/kubernetes/pkg/kubelet/eviction in the build: see build.sh.
//
// The collector of ended pods, which devcluster links but does not run, calls one function of that package.
// The package itself imports the kubelet and the scheduler.
package eviction

import v1 "k8s.io/api/core/v1" //nolint:importas // the text is that of Kubernetes, see the test

// Reason is the reason of an evicted pod's status.
const Reason = "Evicted"

// PodIsEvicted returns true if the reported pod status is due to an eviction.
func PodIsEvicted(podStatus v1.PodStatus) bool {
	return podStatus.Phase == v1.PodFailed && podStatus.Reason == Reason
}
