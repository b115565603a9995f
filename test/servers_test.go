package test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// servers are the only files that make HTTP servers: theirs have limits.
var servers = []string{"reactor/conns/server.go", "webhooks/local_serve.go"}

var makesServer = regexp.MustCompile(`\bhttp\.(Server\{|ListenAndServe|Serve\(|ServeTLS\()`)

// TestServersHaveLimits: the zero value of http.Server waits for its clients for ever,
// and has as many as they like.
func TestServersHaveLimits(t *testing.T) {
	var found []string
	for _, folder := range []string{"abi", "internal", "stores", "host", "reactor", "artifacts", "webhooks", "operator", "hosting", "cmd"} {
		files, err := goFiles(filepath.Join("..", folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !forTests(file) && makesServer.Match(src) {
				found = append(found, strings.TrimPrefix(filepath.ToSlash(file), "../"))
			}
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, servers) {
		t.Errorf("HTTP servers are made in %v; want them in %v", found, servers)
	}
}
