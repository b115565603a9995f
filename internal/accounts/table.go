package accounts

// Table notes how large a map was. A map of Go keeps the memory of its largest size until it is replaced, so entries that were
// given back to an account would stay in memory: those who fill and empty many maps would have more than their limit. The zero
// value is for an empty map.
type Table struct{ most int }

// leastTable is the size of maps that stay, in entries. Up to it, a map of Go has one table of the same size. There can be a map for each
// object, and for each key of an index.
const leastTable = 9

// Fit returns the map after a change, or a copy of it if it has far fewer entries than it had: then it replaces the map. It takes
// constant time on average.
func Fit[K comparable, V any](t *Table, m map[K]V) map[K]V {
	t.most = max(t.most, len(m))
	if t.most < leastTable || len(m) > t.most/4 {
		return m
	}
	t.most = len(m)
	fitting := make(map[K]V, len(m))
	for key, value := range m {
		fitting[key] = value
	}
	return fitting
}
