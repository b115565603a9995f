package peering

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/discovery"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/observation"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// ErrNoPeering means that the cluster has no peering resources.
var ErrNoPeering = errors.New("the cluster has no peering resources: apply peering.yaml of Kopf, https://github.com/nolar/kopf/blob/main/peering.yaml")

// Announcement is a record in peering objects that no operator renews. It makes operators
// pause until it expires or is withdrawn.
type Announcement struct {
	Logins     []credentials.HostLogin // of the host
	Namespaces []string                // patterns for the namespaces of the peering objects; empty: cluster-scoped objects
	Name       string                  // name of the peering objects
	Identity   string                  // name of the record; empty: ManualIdentity
	Priority   int                     // operators with this or a lower priority pause
	Lifetime   time.Duration           // in whole seconds; 0 withdraws the record
	UserAgent  string                  // user agent of the requests; empty: "kopf"
	Log        zerolog.Logger
}

// Announce writes the record once. It logs a warning for each peering object that does not
// exist.
//
// Errors: credentials.ErrNone, ErrNoPeering, and those of the cluster.
//
// Kopf: kopf._core.engines.peering.touch_command (v1.45).
func Announce(ctx context.Context, a Announcement) error {
	log := a.Log.With().Str(loggers.Field, "kopf.peering").Logger()
	asking, stop := context.WithCancel(ctx)
	defer stop()
	client, _, err := clients.LogIn(asking, a.Logins, a.UserAgent, log)
	if err != nil {
		return err
	}
	all, err := discovery.Scan(ctx, client.Discover)
	if all == nil && err != nil {
		return err
	}
	resources := observation.PeeringResources(all, len(a.Namespaces) == 0)
	if len(resources) == 0 {
		return ErrNoPeering
	}
	namespaces, err := a.namespaces(ctx, client, log)
	if err != nil {
		return err
	}
	a.Identity = cmp.Or(a.Identity, ManualIdentity(ctx))
	for _, namespace := range namespaces {
		for _, resource := range resources {
			if err := a.write(ctx, notice{client, resource, namespace, a.Name}, log); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes the record into one peering object.
func (a Announcement) write(ctx context.Context, n notice, log zerolog.Logger) error {
	found, err := n.touch(ctx, a.Identity, a.Priority, a.Lifetime)
	if err != nil {
		return fmt.Errorf("peering %s %s: %w", loggers.Quote(a.Name), loggers.Scope(n.namespace), err)
	}
	level := abi.LevelInfo
	if !found {
		level = abi.LevelWarning // no operator pauses for it
	}
	log.WithLevel(loggers.ZerologLevel(level)).Msg(fmt.Sprintf("Keep-alive of %s in %s %s: %s.",
		loggers.Quote(a.Identity), loggers.Quote(a.Name), loggers.Scope(n.namespace), foundOrNot(found)))
	return nil
}

// namespaces returns the namespaces that match the patterns. If the operator may not list
// namespaces, it returns those that the patterns name.
func (a Announcement) namespaces(ctx context.Context, client *clients.Client, log zerolog.Logger) ([]string, error) {
	if len(a.Namespaces) == 0 {
		return []string{""}, nil
	}
	patterns := selectors.ParseNamespaces(a.Namespaces)
	path, err := observation.Namespaces.URL("", "", "")
	if err != nil {
		return nil, err
	}
	raw, err := client.Get(ctx, path, nil)
	if code, ok := clients.Code(err); ok && code == http.StatusForbidden {
		exact := patterns.Exact()
		log.Warn().Msg("Not enough permissions to list namespaces. " +
			"Falling back to a list of namespaces which are assumed to exist: " + strings.Join(exact, ", "))
		return exact, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the namespaces: %w", err)
	}
	var list struct {
		Items []struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		} `json:"items"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("listing the namespaces: %w", err)
	}
	var matching []string
	for _, item := range list.Items {
		if patterns.Match(item.Metadata.Name) {
			matching = append(matching, item.Metadata.Name)
		}
	}
	if len(matching) == 0 {
		log.Warn().Msg("No namespaces match: " + strings.Join(a.Namespaces, " "))
	}
	return matching, nil
}
