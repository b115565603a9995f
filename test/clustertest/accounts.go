package clustertest

import (
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// As returns the credentials of a service account: a token that the API server makes for it.
func (c *ControlPlane) As(tb testing.TB, namespace, account string) *rest.Config {
	tb.Helper()
	asked := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": map[string]any{"name": account}, "spec": map[string]any{},
	}}
	accounts := c.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}).Namespace(namespace)
	made, err := accounts.Create(tb.Context(), asked, metav1.CreateOptions{}, "token")
	if err != nil {
		tb.Fatalf("a token of %s/%s: %v", namespace, account, err)
	}
	config := rest.AnonymousClientConfig(c.RESTConfig())
	config.BearerToken, _, _ = unstructured.NestedString(made.Object, "status", "token")
	return config
}

// KubeconfigOf returns a file with the credentials of a service account.
func (c *ControlPlane) KubeconfigOf(tb testing.TB, namespace, account string) string {
	tb.Helper()
	config := c.As(tb, namespace, account)
	file := clientcmdapi.NewConfig()
	file.Clusters["c"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthority: config.CAFile, CertificateAuthorityData: config.CAData}
	file.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	file.Contexts["x"], file.CurrentContext = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}, "x"
	path := filepath.Join(tb.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		tb.Fatalf("kubeconfig: %v", err)
	}
	return path
}
