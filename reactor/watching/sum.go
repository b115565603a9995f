package watching

import "hash/maphash"

// seed is that of all sums of the process.
var seed = maphash.MakeSeed() //nolint:gochecknoglobals // a constant of the process

// sum stands for a set of keys: it is the sum of their hashes. It takes as little memory for
// thousands of objects as for none. Two different sets have equal sums once in 2^64 times.
type sum struct {
	value uint64
	known bool // whether there was a listing
}

func (s *sum) add(key string) { s.value += maphash.String(seed, key) }

func (s *sum) remove(key string) { s.value -= maphash.String(seed, key) }

// replace makes the sum that of a listing. It reports whether the set was another one.
func (s *sum) replace(keys map[string]struct{}) (other bool) {
	listed := sum{known: true}
	for key := range keys {
		listed.add(key)
	}
	other = s.known && *s != listed
	*s = listed
	return other
}
