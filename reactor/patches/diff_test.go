package patches

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

func object(t *testing.T, text string) dicts.Object {
	t.Helper()
	obj, err := dicts.DecodeObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

func texts(operations []Operation) []string {
	list := make([]string, len(operations))
	for i, o := range operations {
		list[i] = string(dicts.Encode(o.JSON()))
	}
	return list
}

func value(t *testing.T, text string) any {
	t.Helper()
	doc, err := dicts.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// The wanted operations are Kopf's, except where Kopf uses moves.
func TestDiff(t *testing.T) {
	for _, tt := range []struct {
		name, from, to string
		want           []string // op, path, value
	}{
		{"equal", `{"a":[1,{"b":null}]}`, `{"a":[1,{"b":null}]}`, nil},
		{"change", `{"a":1,"b":2}`, `{"a":1,"b":3}`, []string{`replace /b 3`}},
		{
			"removals, then additions, then changes", `{"a":1,"r":1,"q":1}`, `{"a":2,"n":1,"m":1}`,
			[]string{`remove /q`, `remove /r`, `add /m 1`, `add /n 1`, `replace /a 2`},
		},
		{"nested", `{"a":{"b":{"c":1,"d":1}}}`, `{"a":{"b":{"c":1}}}`, []string{`remove /a/b/d`}},
		{"escapes", `{"a/b":1,"c~d":1}`, `{"a/b":2,"c~d":2}`, []string{`replace /a~1b 2`, `replace /c~0d 2`}},
		{"another type", `{"a":{"b":1}}`, `{"a":[1]}`, []string{`replace /a [1]`}},
		{"null is a value", `{"a":1}`, `{"a":null,"b":null}`, []string{`add /b null`, `replace /a null`}},
		{"a boolean is not a number", `{"a":1}`, `{"a":true}`, []string{`replace /a true`}},
		{"numbers by their values", `{"a":1}`, `{"a":1.0}`, nil},
		{"the whole", `1`, `{"a":1}`, []string{`replace  {"a":1}`}},
		{"append", `["a"]`, `["a","b","c"]`, []string{`add /1 "b"`, `add /2 "c"`}},
		{"insert first", `[1,2,3]`, `[0,1,2,3]`, []string{`add /0 0`}},
		{"insert in the middle", `[1,2,3]`, `[1,9,2,3]`, []string{`add /1 9`}},
		{"remove in the middle", `[1,2,3]`, `[1,3]`, []string{`remove /1`}},
		{"remove all", `[1,2,3]`, `[]`, []string{`remove /0`, `remove /0`, `remove /0`}},
		{"remove equal ones", `[1,1,1]`, `[1]`, []string{`remove /1`, `remove /1`}},
		{"remove around", `["f","x","f"]`, `["x"]`, []string{`remove /0`, `remove /1`}},
		{"remove one and append one", `["a","b","c"]`, `["a","c","z"]`, []string{`remove /1`, `add /2 "z"`}},
		{"replace some", `["a","b","c","d"]`, `["x","d"]`, []string{`replace /0 "x"`, `remove /1`, `remove /1`}},
		{"replace by more", `["a"]`, `["x","y"]`, []string{`replace /0 "x"`, `add /1 "y"`}},
		{"objects in place", `[{"a":1},{"a":2},{"a":3}]`, `[{"a":1},{"a":3}]`, []string{`replace /1/a 3`, `remove /2`}},
		{"an object among scalars", `["a",{"b":2}]`, `[{"b":2}]`, []string{`remove /0`}},
		{"inside of a list", `{"l":[{"a":1,"b":[1,2]}]}`, `{"l":[{"a":1,"b":[2]}]}`, []string{`remove /l/0/b/0`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, o := range Diff(value(t, tt.from), value(t, tt.to)) {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", o.Op, o.Path, shown(o))))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func shown(o Operation) string {
	if o.Op == Remove {
		return ""
	}
	return string(dicts.Encode(o.Value))
}

// The difference of two documents turns the first one into the second one.
func TestDiffRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 20_000 {
		from := randomValue(random, 4)
		to := randomValue(random, 4)
		if random.IntN(2) == 0 {
			to = mutated(random, from)
		}
		limits := differ{room: maxSize, encoding: maxEncoded, cells: maxCells}
		if i%2 == 0 {
			limits = differ{room: random.IntN(1000), encoding: random.IntN(100), cells: random.IntN(10)}
		}
		operations := limits.diff(from, to)
		got, err := apply(dicts.Clone(from), operations)
		if err != nil || !cmp.Equal(got, to) {
			t.Fatalf("from %s\nto   %s\nby   %s\ngives %s, %v",
				dicts.Encode(from), dicts.Encode(to), texts(operations), dicts.Encode(got), err)
		}
		if cmp.Equal(from, to) != (len(operations) == 0) {
			t.Fatalf("from %s\nto   %s\nby   %s", dicts.Encode(from), dicts.Encode(to), texts(operations))
		}
	}
}

func TestDiffOfLongLists(t *testing.T) {
	var from, to []any
	for i := range 3000 {
		from = append(from, strconv.Itoa(i))
		to = append(to, strconv.Itoa(3000-i))
	}
	shorter := slices.Delete(slices.Clone(from), 1500, 1501)
	if got := texts(Diff(from, shorter)); !slices.Equal(got, []string{`{"op":"remove","path":"/1500"}`}) {
		t.Errorf("removing one takes %d operations", len(got))
	}
	encoder := differ{encoding: maxEncoded, cells: maxCells}
	if encoder.common(encoder.encodeAll(from), encoder.encodeAll(to)).lengths != nil {
		t.Error("the lists are compared, however long they are")
	}
	got, err := apply(from, Diff(from, to))
	if diff := cmp.Diff(any(to), got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// randomValue makes a document of few different values, so that they repeat.
func randomValue(random *rand.Rand, depth int) any {
	switch random.IntN(depth + 3) {
	case 0:
		return nil
	case 1:
		return json.Number(strconv.Itoa(random.IntN(3)))
	case 2:
		return []any{"a", "b~/", true}[random.IntN(3)]
	case 3, 4:
		list := make([]any, random.IntN(6))
		for i := range list {
			list[i] = randomValue(random, depth-2)
		}
		return list
	default:
		obj := dicts.Object{}
		for range random.IntN(4) {
			obj[[]string{"a", "b/c", "~", "", "0"}[random.IntN(5)]] = randomValue(random, depth-1)
		}
		return obj
	}
}

// mutated changes random parts of a document.
func mutated(random *rand.Rand, doc any) any {
	switch doc := doc.(type) {
	case dicts.Object:
		obj := dicts.Object{}
		for key, item := range doc {
			if random.IntN(5) > 0 {
				obj[key] = mutated(random, item)
			}
		}
		return obj
	case []any:
		list := []any{}
		for _, item := range doc {
			if random.IntN(5) > 0 {
				list = append(list, mutated(random, item))
			}
			if random.IntN(5) == 0 {
				list = append(list, randomValue(random, 0))
			}
		}
		return list
	default:
		if random.IntN(5) == 0 {
			return randomValue(random, 0)
		}
		return doc
	}
}

// apply is a strict reading of RFC 6902 for the operations that Diff uses.
func apply(doc any, operations []Operation) (any, error) {
	for _, o := range operations {
		var keys []string
		if o.Path != "" {
			keys = strings.Split(o.Path[1:], "/")
		}
		var err error
		if doc, err = applyAt(doc, keys, o); err != nil {
			return nil, fmt.Errorf("%v: %w", o, err)
		}
	}
	return doc, nil
}

func applyAt(doc any, keys []string, o Operation) (any, error) {
	if len(keys) == 0 {
		return o.Value, nil
	}
	key := strings.NewReplacer("~1", "/", "~0", "~").Replace(keys[0])
	switch doc := doc.(type) {
	case dicts.Object:
		return applyToObject(doc, key, keys[1:], o)
	case []any:
		index, err := strconv.Atoi(key)
		if err != nil {
			return nil, err
		}
		return applyToList(doc, index, keys[1:], o)
	default:
		return nil, fmt.Errorf("%q in a scalar", key)
	}
}

func applyToObject(obj dicts.Object, key string, rest []string, o Operation) (any, error) {
	old, exists := obj[key]
	isLast := len(rest) == 0
	if !exists && !(isLast && o.Op == Add) || exists && isLast && o.Op == Add {
		return nil, fmt.Errorf("%q exists: %t", key, exists)
	}
	if isLast && o.Op == Remove {
		delete(obj, key)
		return obj, nil
	}
	item, err := applyAt(old, rest, o)
	obj[key] = item
	return obj, err
}

func applyToList(list []any, index int, rest []string, o Operation) (any, error) {
	isLast := len(rest) == 0
	if isLast && o.Op == Add && index <= len(list) {
		return slices.Insert(slices.Clone(list), index, o.Value), nil
	}
	if index >= len(list) {
		return nil, fmt.Errorf("no item %d of %d", index, len(list))
	}
	if isLast && o.Op == Remove {
		return slices.Delete(slices.Clone(list), index, index+1), nil
	}
	item, err := applyAt(list[index], rest, o)
	changed := slices.Clone(list)
	changed[index] = item
	return changed, err
}
