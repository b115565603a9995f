// Command registry serves a registry for tests, from memory, until it is stopped:
// the one of the CNCF (distribution), or one that has the referrers of OCI 1.1.
//
// It prints the address when it listens.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	"github.com/sirupsen/logrus"

	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"

	withreferrers "github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	kind := flag.String("kind", "distribution", "distribution, or referrers")
	cert := flag.String("cert", "", "serve TLS with this `file`")
	key := flag.String("key", "", "and this `file`")
	htpasswd := flag.String("htpasswd", "", "who may do anything (distribution only)")
	flag.Parse()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	server := &http.Server{Handler: handler(*kind, *htpasswd), ErrorLog: log.New(io.Discard, "", 0)}
	if *cert != "" {
		return server.ServeTLS(listener, *cert, *key)
	}
	return server.Serve(listener)
}

func handler(kind, htpasswd string) http.Handler {
	if kind == "referrers" {
		return withreferrers.New(withreferrers.WithReferrersSupport(true), withreferrers.Logger(log.New(io.Discard, "", 0)))
	}
	config := &configuration.Configuration{Version: "0.1", Storage: configuration.Storage{
		"inmemory": configuration.Parameters{}, "delete": configuration.Parameters{"enabled": true},
	}}
	config.HTTP.Secret = "of this process"
	config.Log.Level = "error"
	logrus.SetOutput(io.Discard)
	if htpasswd != "" {
		config.Auth = configuration.Auth{"htpasswd": configuration.Parameters{"realm": "tests", "path": htpasswd}}
	}
	return handlers.NewApp(context.Background(), config)
}
