package progression

import (
	"cmp"
	"fmt"
	"slices"
)

// Lifecycle decides which of the due handlers are called in this cycle, and in which
// order. It gets their ids in the order of registration and must not change the list.
//
// See https://docs.kopf.dev/en/latest/walkthrough/ and kopf.lifecycles.
type Lifecycle func(ids []string, state State) []string

// LifecycleByName returns a lifecycle by its name in Kopf: asap, all_at_once, one_by_one,
// randomized, shuffled. The function intN returns random numbers from 0 to n-1, as
// rand.IntN of math/rand/v2.
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

// ASAP is the default. It calls one handler at a time: the one with the fewest attempts,
// so that a failing handler does not block the others.
func ASAP(ids []string, state State) []string {
	retries := func(id string) int { return state.Handler(id).Retries }
	sorted := slices.Clone(ids)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(retries(a), retries(b)) })
	return OneByOne(sorted, state)
}

// AllAtOnce calls all handlers in one cycle.
func AllAtOnce(ids []string, _ State) []string { return ids }

// OneByOne calls one handler at a time, in order. It skips a delayed handler.
func OneByOne(ids []string, _ State) []string { return ids[:min(1, len(ids))] }

// Randomized calls one handler at a time, at random.
func Randomized(intN func(n int) int) Lifecycle {
	return func(ids []string, _ State) []string {
		if len(ids) == 0 {
			return nil
		}
		return []string{ids[intN(len(ids))]}
	}
}

// Shuffled calls all handlers in one cycle, in random order.
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
