package progression

import (
	"cmp"
	"fmt"
	"slices"
)

// Lifecycle decides which of the awakened handlers are called in this cycle, and
// in which order. It gets their ids in the order of registration and must not
// change the list.
//
// See https://docs.kopf.dev/en/latest/walkthrough/ and kopf.lifecycles.
type Lifecycle func(ids []string, state State) []string

// LifecycleByName finds a lifecycle by its name in the reference: asap,
// all_at_once, one_by_one, randomized, shuffled. Random numbers from 0 to n-1 come
// from intN, such as rand.IntN of math/rand/v2.
func LifecycleByName(name string, intN func(n int) int) (Lifecycle, error) {
	switch name {
	case "asap":
		return ASAP, nil
	case "all_at_once":
		return AllAtOnce, nil
	case "one_by_one":
		return OneByOne, nil
	case "randomized":
		return Randomized(intN), nil
	case "shuffled":
		return Shuffled(intN), nil
	default:
		return nil, fmt.Errorf("unknown lifecycle %q: want asap, all_at_once, one_by_one, randomized, or shuffled", name)
	}
}

// ASAP is the default: one handler at a time, that with the fewest attempts. So a
// failing handler lets all others go first.
func ASAP(ids []string, state State) []string {
	retries := func(id string) int { return state.handlers[id].Retries }
	sorted := slices.Clone(ids)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(retries(a), retries(b)) })
	return OneByOne(sorted, state)
}

// AllAtOnce calls all handlers in one cycle.
func AllAtOnce(ids []string, _ State) []string { return ids }

// OneByOne calls one handler at a time. One that is delayed is not awakened, so
// it lets the next one go.
func OneByOne(ids []string, _ State) []string { return ids[:min(1, len(ids))] }

// Randomized calls one handler at a time, any of them.
func Randomized(intN func(n int) int) Lifecycle {
	return func(ids []string, _ State) []string {
		if len(ids) == 0 {
			return nil
		}
		return []string{ids[intN(len(ids))]}
	}
}

// Shuffled calls all handlers in one cycle, in any order.
func Shuffled(intN func(n int) int) Lifecycle {
	return func(ids []string, _ State) []string {
		shuffled := slices.Clone(ids)
		for i := len(shuffled) - 1; i > 0; i-- {
			j := intN(i + 1)
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		}
		return shuffled
	}
}
