package membership

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// maxMembers is how many members share the objects at most. Further replicas wait until a member ends.
const maxMembers = 64

// Assignment says which members share the objects. The zero value is that before the first one.
type Assignment struct {
	Generation int64    `json:"generation"`
	Members    []string `json:"members,omitempty"` // sorted

	// Previous are the members of the generation before. Those that are not in Members have certainly
	// ended. Empty: the previous owners of the objects are unknown, so that all members acknowledge first.
	Previous []string `json:"previous,omitempty"`

	// Unsettled are the members of which an acknowledgement is missing.
	Unsettled []string `json:"unsettled,omitempty"`

	// Dismissed are the subjects that all members have to end for ever, sorted: see Dismissals.
	Dismissed []string `json:"dismissed,omitempty"`
}

// lastGeneration is the greatest generation; the first one follows it. All who may update Leases can write any number, so
// none may be one after which no other can follow. It is odd, so that of two different generations, one is newer.
const lastGeneration = 1<<52 - 1

// following returns the generation that comes some steps after another one; 0: before the first.
func following(generation, steps int64) int64 { return (generation+steps-1)%lastGeneration + 1 }

// newer reports whether a generation is newer than another one: whether it comes in the half of all generations that follows
// the other. All are newer than 0, the state before the first.
func newer(generation, than int64) bool {
	if generation == 0 || than == 0 {
		return generation != 0
	}
	ahead := (generation - than + lastGeneration) % lastGeneration
	return ahead != 0 && ahead <= lastGeneration/2
}

// errNote says that no coordinator has written a note.
var errNote = errors.New("no coordinator makes such an assignment")

// parse decodes the note of a coordinator. An empty note is the zero value. All who may update Leases can write a note.
//
// Errors: the note is no assignment.
func parse(note string) (Assignment, error) {
	var a Assignment
	if note == "" {
		return a, nil
	}
	if err := json.Unmarshal([]byte(note), &a); err != nil {
		return Assignment{}, fmt.Errorf("the assignment of the replicas: %w", err)
	}
	if a.Generation < 0 || a.Generation > lastGeneration || max(len(a.Members), len(a.Previous), len(a.Unsettled)) > maxMembers || len(a.Dismissed) > maxDismissed {
		return Assignment{}, fmt.Errorf("the assignment of the replicas: %w: generation %d of %d members", errNote, a.Generation, len(a.Members))
	}
	return a, nil
}

// String is the note of a coordinator.
func (a Assignment) String() string {
	text, _ := json.Marshal(a) // cannot fail: texts and a number
	return string(text)
}

// Has reports whether a member is in the list.
func (a Assignment) Has(member string) bool { return slices.Contains(a.Members, member) }

// initial is the first assignment of a coordinator that does not know its predecessors.
func initial(generation int64, members []string) Assignment {
	members = limited(nil, members)
	return Assignment{Generation: generation, Members: members, Unsettled: members}
}

// census is what a coordinator knows of the members.
type census struct {
	living       []string                  // those that renew their Leases
	ended        func(member string) bool  // whether a member has certainly ended
	acknowledged func(member string) int64 // the generation that a member has acknowledged
}

// next returns the assignment that follows, and the unchanged one if nothing is to change.
func (a Assignment) next(c census) Assignment {
	settled := a
	settled.Unsettled = nil
	for _, member := range a.Unsettled {
		if !c.ended(member) && newer(a.Generation, c.acknowledged(member)) {
			settled.Unsettled = append(settled.Unsettled, member)
		}
	}
	if len(settled.Unsettled) > 0 {
		return settled
	}
	kept := slices.DeleteFunc(slices.Clone(a.Members), c.ended)
	members := limited(kept, c.living)
	if slices.Equal(members, a.Members) {
		return settled
	}
	return Assignment{Generation: following(a.Generation, 1), Members: members, Previous: a.Members, Unsettled: kept}
}

// limited adds members to a list as far as there is room, and sorts it.
func limited(kept, more []string) []string {
	members := slices.Clone(kept)
	for _, member := range slices.Sorted(slices.Values(more)) {
		if len(members) < maxMembers && !slices.Contains(members, member) {
			members = append(members, member)
		}
	}
	slices.Sort(members)
	return members
}

// rights are what an assignment means for one member.
type rights struct {
	Assignment
	member       string
	now, earlier owners
}

func newRights(a Assignment, member string) rights {
	return rights{a, member, newOwners(a.Members), newOwners(a.Previous)}
}

// may reports whether the member may begin to handle the object with a key, or continue.
func (r rights) may(key string) bool {
	if r.now.of(key) != r.member {
		return false
	}
	if len(r.Previous) == 0 {
		return len(r.Unsettled) == 0
	}
	before := r.earlier.of(key)
	return before == r.member || !slices.Contains(r.Unsettled, before)
}

// grown reports whether the member may handle objects that it could not handle with its earlier rights. It may say so
// without need, but never the other way round.
func (r rights) grown(earlier rights) bool {
	stays := slices.Contains(r.Previous, r.member)
	switch {
	case !r.Has(r.member), !stays && len(r.Unsettled) > 0 && len(r.Unsettled) >= len(r.Previous):
		return false // nothing is granted yet
	case r.Generation == earlier.Generation:
		return !stays && len(r.Unsettled) != len(earlier.Unsettled) // only a member that is new takes objects from members that live
	}
	next := r.Generation == following(earlier.Generation, 1) && len(earlier.Unsettled) == 0
	left := slices.ContainsFunc(r.Previous, func(member string) bool { return !r.Has(member) })
	return !next || !stays || left
}
