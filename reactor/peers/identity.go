package peers

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Identity names an operator that runs outside of a pod: who runs it and where,
// since when, and something random.
func Identity(user, host string, started time.Time, salt string) string {
	return fmt.Sprintf("%s/%s/%s", ManualIdentity(user, host), started.UTC().Format("20060102150405"), salt)
}

// ManualIdentity names a person who freezes operators from a command line: it is
// the same for the next command, which resumes them.
func ManualIdentity(user, host string) string { return user + "@" + host }

// saltAlphabet is for readable texts; as in the reference, one letter is missing.
const saltAlphabet = "abcdefhijklmnopqrstuvwxyz0123456789"

// Salt makes three characters of a source of random numbers below n.
func Salt(random func(n int) int) string {
	var salt [3]byte
	for i := range salt {
		salt[i] = saltAlphabet[random(len(saltAlphabet))]
	}
	return string(salt[:])
}

// DescribeHost chooses the most telling of the names of a machine: a full one, or
// else any, but not localhost, an address, or the reverse of one. The fallback is
// what the machine calls itself.
func DescribeHost(names []string, fallback string) string {
	for _, full := range []bool{true, false} {
		for _, name := range names {
			name = strings.TrimSuffix(name, ".") // of the root, in answers of DNS
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

// withoutSuffixes cuts the suffixes that tell nothing.
func withoutSuffixes(name string) string {
	for {
		cut := strings.TrimSuffix(strings.TrimSuffix(name, ".localdomain"), ".local")
		if cut == name {
			return name
		}
		name = cut
	}
}
