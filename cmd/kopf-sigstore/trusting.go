package main

import (
	"encoding/json"
	"fmt"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/tuf"
)

// trust is the trusted root of the request, or that of the public Sigstore, which is
// fetched once a day.
func trust(req *request) (*root.TrustedRoot, error) {
	if req.Trust != nil {
		return given(req.Trust)
	}
	options := tuf.DefaultOptions().WithCacheValidity(1)
	if req.Cache == "" {
		options.WithDisableLocalCache()
	} else {
		options.WithCachePath(req.Cache)
	}
	return fetched(options)
}

func fetched(options *tuf.Options) (*root.TrustedRoot, error) {
	trusted, err := root.FetchTrustedRootWithOptions(options)
	if err != nil {
		return nil, fmt.Errorf("the trusted root of Sigstore cannot be had from %s: %w", options.RepositoryBaseURL, err)
	}
	return trusted, nil
}

// given reads a trusted root, or the one in the trust configuration of a client.
func given(text json.RawMessage) (*root.TrustedRoot, error) {
	var config struct {
		TrustedRoot json.RawMessage `json:"trustedRoot"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("the trusted root: %w", err)
	}
	if config.TrustedRoot != nil {
		text = config.TrustedRoot
	}
	trusted, err := root.NewTrustedRootFromJSON(text)
	if err != nil {
		return nil, fmt.Errorf("the trusted root: %w", err)
	}
	return trusted, nil
}
