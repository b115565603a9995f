package oci

import (
	"context"
	"sync"

	"oras.land/oras-go/v2/registry/remote/auth"
)

// maxTokens bounds the tokens that a client remembers. Registries choose their scopes and sizes,
// while an operator follows their tags for months. Pulling needs one token of a repository.
const maxTokens = 16

// tokens remembers the tokens of registries. At maxTokens, it forgets all of them: they are asked
// for again.
type tokens struct {
	mu    sync.Mutex // guards the fields below
	known auth.Cache
	count int // of tokens in known, at most
}

// GetScheme returns how a registry authenticates.
func (t *tokens) GetScheme(ctx context.Context, registry string) (auth.Scheme, error) {
	return t.now().GetScheme(ctx, registry)
}

// GetToken returns a token that is known.
func (t *tokens) GetToken(ctx context.Context, registry string, scheme auth.Scheme, key string) (string, error) {
	return t.now().GetToken(ctx, registry, scheme, key)
}

// Set fetches a token, and remembers it.
func (t *tokens) Set(ctx context.Context, registry string, scheme auth.Scheme, key string, fetch func(context.Context) (string, error)) (string, error) {
	t.mu.Lock()
	if t.count++; t.count > maxTokens {
		t.known, t.count = auth.NewCache(), 1
	}
	known := t.known
	t.mu.Unlock()
	return known.Set(ctx, registry, scheme, key, fetch)
}

func (t *tokens) now() auth.Cache {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known
}
