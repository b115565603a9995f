package jsonlite

import "reflect"

// sortKeysOf sorts keys, and the values with them, if there are any: most maps have few,
// but their number is not limited. It is heapsort, as package slices would add
// 40 KB to each module.
func sortKeysOf(keys []string, values []reflect.Value) {
	for i := len(keys)/2 - 1; i >= 0; i-- {
		sink(keys, values, i)
	}
	for last := len(keys) - 1; last > 0; last-- {
		swap(keys, values, 0, last)
		sink(keys[:last], values, 0)
	}
}

// sink moves a key down in the heap until no key below it is greater.
func sink(heap []string, values []reflect.Value, i int) {
	for {
		below := 2*i + 1
		if below >= len(heap) {
			return
		}
		if below+1 < len(heap) && heap[below+1] > heap[below] {
			below++
		}
		if heap[below] <= heap[i] {
			return
		}
		swap(heap, values, i, below)
		i = below
	}
}

func swap(keys []string, values []reflect.Value, i, j int) {
	keys[i], keys[j] = keys[j], keys[i]
	if values != nil {
		values[i], values[j] = values[j], values[i]
	}
}
