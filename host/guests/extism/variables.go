package extism

// variables are what an instance of a plugin keeps between its calls, in the memory of the host.
type variables struct {
	limit  int    // of the names and the values, in bytes; negative: there are none
	memory Memory // nil: no bound

	values map[string][]byte
	stored int // bytes in values, names included
	places int // the largest number of values so far: their table does not shrink
}

// variableCost is the memory of a variable in addition to its name and its value, in bytes: many small ones take a hundred times as much
// as they store.
const variableCost = 128

// set changes or deletes a variable. It returns false if the variables exceed their limit.
func (v *variables) set(name string, value []byte, exists bool) bool {
	old, known := v.values[name]
	stored, places := v.stored, v.places
	if known {
		stored -= len(name) + len(old)
	}
	if !exists {
		take(v.memory, stored-v.stored)
		delete(v.values, name)
		v.stored = stored
		return true
	}
	if !known {
		places = max(places, len(v.values)+1)
	}
	if stored += len(name) + len(value); stored > v.limit || !take(v.memory, stored-v.stored+variableCost*(places-v.places)) {
		return false
	}
	if v.values == nil {
		v.values = map[string][]byte{}
	}
	v.values[name], v.stored, v.places = append([]byte(nil), value...), stored, places
	return true
}

// free forgets all variables.
func (v *variables) free() {
	take(v.memory, -v.stored-variableCost*v.places)
	v.values, v.stored, v.places = nil, 0, 0
}
