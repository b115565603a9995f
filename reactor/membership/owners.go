package membership

// owners is a list of members with their hashes.
type owners struct {
	members []string
	hashes  []uint64
}

func newOwners(members []string) owners {
	o := owners{members: members, hashes: make([]uint64, len(members))}
	for i, member := range members {
		o.hashes[i] = hashOf(member)
	}
	return o
}

// of returns the owner of an object by rendezvous hashing: the member with the greatest weight for the object. So an object moves
// only if its owner leaves, or if a member that joins becomes its owner. It is empty without members.
//
// All members must agree on the result, so the hash is a part of the protocol: a change of it needs another annotation.
//
// Source: Thaler and Ravishankar, "Using name-based mappings to increase hit rates", 1998.
func (o owners) of(key string) string {
	object := hashOf(key)
	best, most := "", uint64(0)
	for i, member := range o.hashes {
		weight := mixed(member ^ object)
		if best == "" || weight > most || weight == most && o.members[i] < best {
			best, most = o.members[i], weight
		}
	}
	return best
}

// hashOf is FNV-1a with 64 bits, mixed.
//
// Source: http://www.isthe.com/chongo/tech/comp/fnv/
func hashOf(text string) uint64 {
	hash := uint64(0xcbf29ce484222325)
	for i := range len(text) {
		hash = (hash ^ uint64(text[i])) * 0x100000001b3
	}
	return mixed(hash)
}

// mixed lets each bit of the result depend on each bit of the value.
//
// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
func mixed(value uint64) uint64 {
	value = (value ^ value>>30) * 0xbf58476d1ce4e5b9
	value = (value ^ value>>27) * 0x94d049bb133111eb
	return value ^ value>>31
}
