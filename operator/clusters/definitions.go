package clusters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Define applies the CustomResourceDefinitions among the files *.yaml of a folder, and returns
// their names.
func (c *Cluster) Define(ctx context.Context, folder string) (names []string, err error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	found, err := definitionsOf(folder)
	if err != nil {
		return nil, err
	}
	for _, definition := range found {
		text, err := json.Marshal(definition.Object)
		if err != nil {
			return nil, err
		}
		force := true
		options := metav1.PatchOptions{FieldManager: "kopf-dev", Force: &force}
		if _, err := client.Resource(definitions).Patch(ctx, definition.GetName(), types.ApplyPatchType, text, options); err != nil {
			return nil, err
		}
		names = append(names, definition.GetName())
	}
	return names, nil
}

// definitionsOf reads the definitions among the manifests of a folder.
func definitionsOf(folder string) (all []*unstructured.Unstructured, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if filepath.Ext(path) != ".yaml" || !entry.Type().IsRegular() {
			continue
		}
		some, err := read(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

func read(path string) (all []*unstructured.Unstructured, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); err != nil {
			if errors.Is(err, io.EOF) {
				return all, nil
			}
			return nil, err
		}
		if object.GetKind() == "CustomResourceDefinition" && object.GetAPIVersion() == "apiextensions.k8s.io/v1" {
			all = append(all, object)
		}
	}
}
