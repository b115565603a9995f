package clustertest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// requestTimeout bounds each request of this package itself.
const requestTimeout = time.Minute

// pollInterval is the pause between two looks at something awaited.
const pollInterval = 50 * time.Millisecond

// maxPollInterval is the longest pause of Eventually: what many tests ask at once is most of what the API server computes.
const maxPollInterval = 300 * time.Millisecond

// ControlPlane is a running cluster, accessed as its administrator. Its
// methods may be called from several tests at once.
type ControlPlane struct {
	kubeconfig string
	config     *rest.Config
	dynamic    dynamic.Interface
	mapper     meta.ResettableRESTMapper
	server     *server // nil: not started from here
}

// connect makes the clients for a running cluster.
func connect(kubeconfig string) (*ControlPlane, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config.QPS = -1 // tests are in a hurry
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	groups, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &ControlPlane{
		kubeconfig: kubeconfig,
		config:     config,
		dynamic:    client,
		mapper:     restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(groups)),
	}, nil
}

// Kubeconfig returns the path of the administrator's kubeconfig.
func (c *ControlPlane) Kubeconfig() string { return c.kubeconfig }

// RESTConfig returns the configuration of the administrator's clients,
// without client-side rate limits. The caller may change it.
func (c *ControlPlane) RESTConfig() *rest.Config { return rest.CopyConfig(c.config) }

// Dynamic returns the administrator's client for objects of any kind.
func (c *ControlPlane) Dynamic() dynamic.Interface { return c.dynamic }

// KubeconfigAs writes a kubeconfig of an operator user, operator0a …
// operator23b, and returns its path. All of them are administrators: they
// differ only in the audit log.
func (c *ControlPlane) KubeconfigAs(tb testing.TB, user string) string {
	tb.Helper()
	slot, ok := strings.CutPrefix(user, "operator")
	if !ok {
		tb.Fatalf("user %q: want operator0a … operator23b", user)
	}
	config, err := clientcmd.LoadFromFile(c.kubeconfig)
	if err != nil {
		tb.Fatalf("kubeconfig: %v", err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: "operatortoken" + slot}
	}
	path := filepath.Join(tb.TempDir(), user+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		tb.Fatalf("kubeconfig: %v", err)
	}
	return path
}

// Stop stops a cluster of Start before the end of its test, for example to
// start it again on the same folder.
func (c *ControlPlane) Stop(tb testing.TB) {
	tb.Helper()
	if err := c.stop(); err != nil {
		tb.Fatalf("cluster: %v", err)
	}
}

// Kill ends a cluster of Start at once, as a crash does. What it has stored by then
// is there when it is started again on the same folder.
func (c *ControlPlane) Kill(tb testing.TB) {
	tb.Helper()
	if c.server == nil {
		tb.Fatal("cluster: only one that was started here can be killed")
	}
	if err := c.server.kill(); err != nil {
		tb.Fatalf("cluster: %v", err)
	}
}

func (c *ControlPlane) stop() error {
	if c.server == nil {
		return nil
	}
	return c.server.stop()
}

// Eventually calls check again and again, less often the longer it takes, until it returns nil. The test fails
// with its last error when the timeout is over, or when the cluster is gone.
func (c *ControlPlane) Eventually(tb testing.TB, timeout time.Duration, check func() error) {
	tb.Helper()
	deadline := time.Now().Add(timeout)
	for pause := pollInterval; ; pause = min(pause*5/4, maxPollInterval) {
		err := check()
		if err == nil {
			return
		}
		if c.server != nil {
			if gone, cause := c.server.ended(); gone {
				tb.Fatalf("the cluster is gone: %v\nwhile waiting: %v", cause, err)
			}
		}
		if time.Now().After(deadline) {
			tb.Fatalf("not in %v: %v", timeout, err)
		}
		time.Sleep(pause)
	}
}

// file returns the path of a file in the data folder.
func (c *ControlPlane) file(name string) string {
	return filepath.Join(filepath.Dir(c.kubeconfig), name)
}
