package oci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
)

// credentials returns the credentials of Docker and Podman for the registry of a reference.
// It gives them to no other host.
func (c *Client) credentials(r Reference) auth.CredentialFunc {
	return func(ctx context.Context, asked string) (auth.Credential, error) {
		if asked != host(r) {
			return auth.EmptyCredential, nil
		}
		if c.options.Configs != nil {
			return fromConfigs(ctx, c.options.Configs, r)
		}
		for _, file := range configFiles(c.options.ConfigFile) {
			found, err := lookUp(ctx, file, r)
			if err != nil {
				return auth.EmptyCredential, fmt.Errorf("%w of %s: %w", errCredentials, file.path, err)
			}
			if found != auth.EmptyCredential {
				return found, nil
			}
		}
		return auth.EmptyCredential, nil
	}
}

// fromConfigs returns the credentials of a repository, of a path above it, or of the
// registry, from the first configuration that has some.
func fromConfigs(ctx context.Context, configs [][]byte, r Reference) (auth.Credential, error) {
	for _, config := range configs {
		found, err := fromConfig(ctx, config, r)
		if err != nil {
			return auth.EmptyCredential, fmt.Errorf("%w: %w", errCredentials, err)
		}
		if found != auth.EmptyCredential {
			return found, nil
		}
	}
	return auth.EmptyCredential, nil
}

// fromConfig looks into one configuration. The library reads the chosen entry only: it would
// mix up the entries of several paths of one registry.
func fromConfig(ctx context.Context, config []byte, r Reference) (auth.Credential, error) {
	var known struct {
		Auths map[string]json.RawMessage `json:"auths"`
	}
	if err := json.Unmarshal(config, &known); err != nil {
		return auth.EmptyCredential, err
	}
	const chosen = "chosen"
	server := credentials.ServerAddressFromRegistry(r.Registry)
	for _, key := range append(keysOf(r), server, "https://"+r.Registry, "https://"+r.Registry+"/v1/", "https://"+r.Registry+"/v2/") {
		entry, ok := known.Auths[key]
		if !ok {
			continue
		}
		only, err := json.Marshal(map[string]any{"auths": map[string]any{chosen: entry}})
		if err != nil {
			return auth.EmptyCredential, err
		}
		store, err := credentials.NewMemoryStoreFromDockerConfig(only)
		if err != nil {
			return auth.EmptyCredential, err
		}
		if found, err := store.Get(ctx, chosen); err != nil || found != auth.EmptyCredential {
			return found, err
		}
	}
	return auth.EmptyCredential, nil
}

// keysOf lists the repository and the paths above it, the longest first (a feature of Podman).
func keysOf(r Reference) []string {
	var keys []string
	for key := r.Registry + "/" + r.Repository; strings.Contains(key, "/"); key = key[:strings.LastIndex(key, "/")] {
		keys = append(keys, key)
	}
	return append(keys, r.Registry)
}

// errCredentials wraps errors about files and helpers with credentials.
var errCredentials = errors.New("credentials")

// configFile is a possible place of credentials. A file that the user named must exist.
type configFile struct {
	path  string
	named bool
}

// configFiles lists the possible places, in order of precedence.
//
// See containers-auth.json(5) and https://docs.docker.com/reference/cli/docker/#environment-variables
func configFiles(named string) []configFile {
	if named == "" {
		named = os.Getenv("REGISTRY_AUTH_FILE")
	}
	if named != "" {
		return []configFile{{named, true}}
	}
	var files []configFile
	if dir := os.Getenv("DOCKER_CONFIG"); dir != "" {
		files = append(files, configFile{filepath.Join(dir, "config.json"), false})
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		files = append(files, configFile{filepath.Join(dir, "containers", "auth.json"), false})
	}
	if dir, err := os.UserConfigDir(); err == nil {
		files = append(files, configFile{filepath.Join(dir, "containers", "auth.json"), false})
	}
	if dir, err := os.UserHomeDir(); err == nil {
		files = append(files, configFile{filepath.Join(dir, ".docker", "config.json"), false})
	}
	return files
}

// lookUp returns the credentials of a repository, of a namespace above it (a feature of
// Podman), or of the registry, in this order.
func lookUp(ctx context.Context, file configFile, r Reference) (auth.Credential, error) {
	var known struct {
		Auths   map[string]json.RawMessage `json:"auths"`
		Helpers map[string]string          `json:"credHelpers"`
	}
	data, err := boundedfile.Read(file.path, boundedfile.MaxDocument)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !file.named:
		return auth.EmptyCredential, nil
	case err != nil:
		return auth.EmptyCredential, err
	}
	if err := json.Unmarshal(data, &known); err != nil {
		return auth.EmptyCredential, err
	}
	store, err := credentials.NewStore(file.path, credentials.StoreOptions{})
	if err != nil {
		return auth.EmptyCredential, err
	}
	for _, key := range keysOf(r) {
		if known.Auths[key] == nil && known.Helpers[key] == "" {
			continue
		}
		if found, err := store.Get(ctx, key); err != nil || found != auth.EmptyCredential {
			return found, err
		}
	}
	return store.Get(ctx, credentials.ServerAddressFromRegistry(r.Registry))
}
