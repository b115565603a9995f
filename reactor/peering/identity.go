package peering

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net"
	"os"
	"os/user"
	"strconv"
	"time"

	"github.com/kopf-wasm/kopf/reactor/peers"
)

// resolving limits the lookup of the machine's name.
const resolving = 2 * time.Second

// Identity returns the name of this operator among its peers: $POD_ID if it is set,
// otherwise user@host/time/random.
//
// Kopf: kopf._core.engines.peering.detect_own_id (v1.45).
func Identity(ctx context.Context) string {
	if pod := os.Getenv("POD_ID"); pod != "" {
		return pod
	}
	return peers.Identity(userName(), hostName(ctx), time.Now(), peers.Salt(rand.IntN))
}

// ManualIdentity returns the name of the user who runs a command: $POD_ID if it is set,
// otherwise user@host.
func ManualIdentity(ctx context.Context) string {
	if pod := os.Getenv("POD_ID"); pod != "" {
		return pod
	}
	return peers.ManualIdentity(userName(), hostName(ctx))
}

// userName prefers environment variables, as Python does. In containers, users may have no
// names.
func userName() string {
	for _, variable := range []string{"LOGNAME", "USER", "LNAME", "USERNAME"} {
		if name := os.Getenv(variable); name != "" {
			return name
		}
	}
	if current, err := user.Current(); err == nil {
		return cmp.Or(current.Username, current.Uid)
	}
	return strconv.Itoa(os.Getuid())
}

func hostName(ctx context.Context) string {
	own, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, resolving)
	defer cancel()
	names := []string{own}
	if addresses, err := net.DefaultResolver.LookupHost(ctx, own); err == nil {
		full, _ := net.DefaultResolver.LookupAddr(ctx, addresses[0]) // empty if the lookup fails
		names = append(full, own)
	}
	return peers.DescribeHost(names, own)
}
