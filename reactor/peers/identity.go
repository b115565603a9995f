package peers

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Identity makes the name of an operator outside of a pod from its user, host and start,
// and a random salt.
func Identity(user, host string, started time.Time, salt string) string {
	return fmt.Sprintf("%s/%s/%s", ManualIdentity(user, host), started.UTC().Format("20060102150405"), salt)
}

// ManualIdentity makes the name of a user who freezes operators by a command. It is
// constant, so that a later command can resume them.
func ManualIdentity(user, host string) string { return user + "@" + host }

// saltAlphabet is for readable texts. As in Kopf, one letter is missing.
const saltAlphabet = "abcdefhijklmnopqrstuvwxyz0123456789"

// Salt makes three characters from a source of random numbers below n.
func Salt(random func(n int) int) string {
	var salt [3]byte
	for i := range salt {
		salt[i] = saltAlphabet[random(len(saltAlphabet))]
	}
	return string(salt[:])
}

// DescribeHost selects the most specific name of a machine: a full name if possible, but
// never localhost, an address, or a reverse DNS name. The fallback is the machine's own
// host name.
func DescribeHost(names []string, fallback string) string {
	for _, full := range []bool{true, false} {
		for _, name := range names {
			name = strings.TrimSuffix(name, ".") // DNS answers end with the dot of the root
			if (!full || strings.Contains(name, ".")) && telling(name) {
				return withoutSuffixes(name)
			}
		}
	}
	return withoutSuffixes(fallback)
}

func telling(name string) bool {
	_, err := netip.ParseAddr(name)
	return err != nil && name != "" && name != "localhost" && !strings.HasSuffix(name, ".arpa")
}

// withoutSuffixes removes suffixes without information.
func withoutSuffixes(name string) string {
	for {
		cut := strings.TrimSuffix(strings.TrimSuffix(name, ".localdomain"), ".local")
		if cut == name {
			return name
		}
		name = cut
	}
}
