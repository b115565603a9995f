// Package push puts the image, the chart and the engines of a release into a registry.
package push

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	spec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"
	"sigs.k8s.io/yaml"

	"github.com/kopf-wasm/kopf/scripts/release/image"
	"github.com/kopf-wasm/kopf/scripts/release/version"
)

// Media types of charts in registries.
//
// See https://helm.sh/docs/topics/registries/
const (
	chartConfig  = "application/vnd.cncf.helm.config.v1+json"
	chartContent = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// Release pushes the image, the chart and the engines of a release of the repository at root below a prefix, such as
// ghcr.io/me, and returns their names with digests: PREFIX/kopf, PREFIX/charts/kopf and PREFIX/engines/LANGUAGE. Credentials are $REGISTRY_USER and $REGISTRY_PASSWORD, or those of Docker.
func Release(ctx context.Context, root, folder, prefix string, v version.Version) ([]string, error) {
	if _, err := os.Stat(filepath.Join(folder, "image", spec.ImageLayoutFile)); err != nil {
		return nil, fmt.Errorf("there is no image in %s: run make release VERSION=%s: %w", folder, v, err)
	}
	images, err := oci.New(filepath.Join(folder, "image"))
	if err != nil {
		return nil, fmt.Errorf("the image: %w", err)
	}
	var pushed []string
	for _, tag := range []string{string(v), string(v) + image.ScriptsSuffix} {
		if _, err := images.Resolve(ctx, tag); err != nil {
			continue // a release without engines
		}
		name, err := push(ctx, images, tag, prefix+"/kopf")
		if err != nil {
			return nil, err
		}
		pushed = append(pushed, name)
	}
	chart, err := packed(ctx, filepath.Join(folder, "kopf-"+string(v)+".tgz"), filepath.Join(root, "charts", "kopf", "Chart.yaml"), v)
	if err != nil {
		return nil, fmt.Errorf("the chart: %w", err)
	}
	name, err := push(ctx, chart, string(v), prefix+"/charts/kopf")
	if err != nil {
		return nil, err
	}
	more, err := pushEngines(ctx, filepath.Join(folder, "kopf_"+string(v)+"_engines.tar.gz"), prefix, v)
	return append(append(pushed, name), more...), err
}

// pushEngines pushes the engines of an archive, sorted by their language.
func pushEngines(ctx context.Context, archive, prefix string, v version.Version) ([]string, error) {
	stores, err := engines(ctx, archive, v)
	if err != nil {
		return nil, err
	}
	var pushed []string
	for _, language := range slices.Sorted(maps.Keys(stores)) {
		name, err := push(ctx, stores[language], string(v), prefix+"/engines/"+language)
		if err != nil {
			return nil, err
		}
		pushed = append(pushed, name)
	}
	return pushed, nil
}

func push(ctx context.Context, from oras.ReadOnlyTarget, tag, repository string) (string, error) {
	to, err := remote.NewRepository(repository)
	if err != nil {
		return "", fmt.Errorf("%s: %w", repository, err)
	}
	credential, err := credentialOf(to.Reference.Registry)
	if err != nil {
		return "", err
	}
	to.Client = &auth.Client{Client: retry.DefaultClient, Cache: auth.NewCache(), Credential: credential}
	host, _, err := net.SplitHostPort(to.Reference.Registry)
	to.PlainHTTP = err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
	root, err := oras.Copy(ctx, from, tag, to, tag, oras.DefaultCopyOptions)
	if err != nil {
		return "", fmt.Errorf("%s:%s: %w", repository, tag, err)
	}
	return repository + ":" + tag + "@" + root.Digest.String(), nil
}

func credentialOf(registry string) (auth.CredentialFunc, error) {
	if password := os.Getenv("REGISTRY_PASSWORD"); password != "" {
		return auth.StaticCredential(registry, auth.Credential{Username: os.Getenv("REGISTRY_USER"), Password: password}), nil
	}
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, err
	}
	return credentials.Credential(store), nil
}

// packed makes an artifact of a packed chart.
func packed(ctx context.Context, path, definition string, v version.Version) (*memory.Store, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	config, err := chartMetadata(definition, v)
	if err != nil {
		return nil, err
	}
	store := memory.New()
	layer := content.NewDescriptorFromBytes(chartContent, text)
	described := content.NewDescriptorFromBytes(chartConfig, config)
	for at, blob := range map[*spec.Descriptor][]byte{&layer: text, &described: config} {
		if err := store.Push(ctx, *at, strings.NewReader(string(blob))); err != nil {
			return nil, err
		}
	}
	manifest, err := oras.PackManifest(ctx, store, oras.PackManifestVersion1_1, "", oras.PackManifestOptions{
		ConfigDescriptor: &described, Layers: []spec.Descriptor{layer}, ManifestAnnotations: map[string]string{spec.AnnotationCreated: "1970-01-01T00:00:00Z"},
	})
	if err != nil {
		return nil, err
	}
	return store, store.Tag(ctx, manifest, string(v))
}

// chartMetadata is Chart.yaml in JSON, with the version of the release.
func chartMetadata(path string, v version.Version) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	fields["version"], fields["appVersion"] = string(v), string(v)
	return json.Marshal(fields)
}
