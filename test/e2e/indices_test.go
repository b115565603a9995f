package e2e_test

import (
	"fmt"
	"testing"
	"time"
)

// TestIndicesOfBadObjects: objects that cannot be indexed are logged, and missing in
// the index; all others are there, and handlers see them.
func TestIndicesOfBadObjects(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, spec, says string }{
		{"fails", "{do: fail}", "Indexer 'indexFn' failed with an exception and will ignore it: it cannot be indexed"},
		{"fails for good", "{do: permanent}", "Indexer 'indexFn' failed permanently: it can never be indexed"},
		{"10 MB", "{do: large}", "Indexer 'indexFn' failed with an exception and will ignore it"},
		{"a million keys", "{do: keys, number: 1000000}", "indexFn"},
		{"too many keys", "{do: keys, number: 100001}", "100001 keys of one object, but at most 100000 are possible"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.create(t, "good1", "{key: a}")
			s.create(t, "bad", test.spec)
			op := s.startLiving(t, "index create", options{})
			op.says(t, "bad", test.says)
			s.create(t, "good2", "{key: a}")
			s.handled(t, "good2")
			if op.lines(`"name":"good2"`, `"keys":1`, `"values":2`) != 1 {
				t.Errorf("the handler does not see the good ones: %s", op.stdout)
			}
			s.handled(t, "bad")
			if c := op.counts(); c.Indexed != 2 || c.Objects != 3 {
				t.Errorf("the operator holds %+v", c)
			}
		})
	}
}

// TestIndicesFollowTheirObjects: filters that do not match any more, deletion, and
// errors for good remove from the index.
func TestIndicesFollowTheirObjects(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.startLiving(t, "index create", options{config: map[string]string{"options": `{"label":"x"}`}})
	for i := range 3 {
		s.ApplyIn(t, s.namespace, fmt.Sprintf("{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: obj%d, labels: {x: a}}, spec: {key: k%d}}", i, i))
	}
	indexed := func(n int) {
		t.Helper()
		op.until(t, fmt.Sprint(n, " are indexed"), func() bool { return op.counts().Indexed == n })
	}
	indexed(3)
	s.patch(t, "obj0", `{"metadata":{"labels":{"x":null}}}`)
	indexed(2)
	s.remove(t, "obj1")
	indexed(1)
	s.patch(t, "obj2", `{"spec":{"do":"fail"}}`)
	op.says(t, "obj2", "it cannot be indexed")
	indexed(1) // what was there stays
	s.patch(t, "obj2", `{"spec":{"do":"permanent"}}`)
	indexed(0)
}

// TestIndexOfAMillionKeys: as many keys as objects may have together are found, by handlers, and
// disappear with their objects. It computes more than any other test here, so it has the processors before the others
// begin: next to operators that compute little, it would have one processor less.
func TestIndexOfAMillionKeys(t *testing.T) { //nolint:paralleltest // see above
	const objects, keys = 10, 100_000 // of each: the most that is possible
	s := newSpace(t)
	for i := range objects {
		s.create(t, fmt.Sprintf("large-%d", i), fmt.Sprintf("{do: keys, number: %d, first: %d}", keys, i*keys))
	}
	op := s.startLiving(t, "index create", options{})
	began := time.Now()
	op.until(t, "all are indexed", func() bool { return op.counts().Indexed == objects*keys })
	t.Logf("%d keys are indexed after %v", objects*keys, time.Since(began).Round(10*time.Millisecond))
	for _, number := range []int{0, keys, objects*keys - 1} { // each indexed with one key of its own
		name := fmt.Sprintf("seeker-%d", number)
		s.create(t, name, fmt.Sprintf("{key: x, number: %d}", number))
		s.handled(t, name)
		if op.lines(fmt.Sprintf(`"name":%q`, name), fmt.Sprintf(`"keys":%d`, objects*keys+1), fmt.Sprintf("1 values of %d", number)) != 1 {
			t.Errorf("%s does not see the index: %v", name, op.stdout.With(name))
		}
	}
	for i := range objects - 1 {
		s.remove(t, fmt.Sprintf("large-%d", i))
	}
	op.until(t, "the keys of the deleted ones are gone", func() bool { return op.counts().Indexed == keys+3 })
	s.create(t, "last", fmt.Sprintf("{key: x, number: %d}", keys))
	s.handled(t, "last")
	if op.lines(`"name":"last"`, fmt.Sprintf(`"keys":%d`, keys+1), fmt.Sprintf("0 values of %d", keys)) != 1 {
		t.Errorf("the last one does not see the index: %v", op.stdout.With("last"))
	}
}
