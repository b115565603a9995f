// Command libraries is a guest with libraries that most operators in Go import.
package main

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/klog/v2"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() { kopf.OnCreate("pods", create) }

func create(c *kopf.Change) (any, error) {
	pod, err := kopf.Decode[corev1.Pod](c.Body)
	if err != nil {
		return nil, err
	}
	klog.Infof("%s has %d container", pod.Name, len(pod.Spec.Containers))
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
	return pod.Spec.Containers, nil
}

func main() {}
