// Package clustertest gives Go tests a real Kubernetes control plane: the
// API server, etcd and the controllers of test/cluster, in processes of their
// own. A cluster is started once per test binary, on first use, and each test
// has a namespace for itself:
//
//	func TestMain(m *testing.M) { clustertest.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		cluster := clustertest.Cluster(t)
//		namespace := cluster.Namespace(t)
//		cluster.ApplyIn(t, namespace, manifest)
//		cluster.Eventually(t, 10*time.Second, func() error { … })
//	}
//
// The binary is found by the variable KOPF_DEVCLUSTER, or in .cache/bin of the
// repository, where "make devcluster" puts it. If KOPF_TEST_KUBECONFIG is set,
// that cluster is used instead and nothing is started.
//
// The garbage collector looks for new kinds of resources every 30 seconds. The
// children of an object stay for up to 45 seconds if the kind of the object was
// defined just before.
package clustertest
