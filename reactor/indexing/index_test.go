package indexing

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
	"github.com/kopf-wasm/kopf/internal/heaptest"
)

func pairs(keys ...string) Pairs {
	p := Pairs{}
	for _, key := range keys {
		p[fmt.Sprintf("%q", key)] = []byte("1")
	}
	return p
}

func held(a *accounts.Account) int { return a.Usage()[accounts.Indices].Used }

// TestValuesOfKeys checks the values of objects that share keys, change and disappear in
// any order.
func TestValuesOfKeys(t *testing.T) {
	var x Index
	look := func(want string) {
		t.Helper()
		got, err := x.Look(OpValues, []byte(`"k"`))
		if want == "" && !errors.Is(err, ErrAbsent) || want != "" && string(got) != want {
			t.Errorf("values %s, %v; want %q", got, err, want)
		}
	}
	set := func(object, value string) {
		t.Helper()
		if err := x.Replace(object, Pairs{`"k"`: []byte(value)}); err != nil {
			t.Fatal(err)
		}
	}
	look("")
	set("b", "2")
	set("a", "1")
	look("[1,2]")
	set("c", "3")
	set("b", "20")
	set("a", "10")
	look("[10,20,3]")
	x.Discard("b")
	look("[10,3]")
	x.Discard("x")
	set("a", "100")
	look("[100,3]")
	x.Discard("a")
	look("[3]")
	if err := x.Replace("c", nil); err != nil {
		t.Fatal(err)
	}
	look("")
}

// TestFullIndex checks that an object that does not fit is removed, and the others stay.
func TestFullIndex(t *testing.T) {
	account := accounts.New(accounts.Limits{IndexMemory: 1 << 20})
	x := New([]string{"i", "j"}, account).Get("i")
	added, err := 0, error(nil)
	for err == nil {
		if err = x.Replace(fmt.Sprint("object", added), pairs(fmt.Sprint("key", added), "common")); err == nil {
			added++
		}
	}
	if !errors.Is(err, accounts.ErrLimit) || !strings.Contains(err.Error(), "the limit IndexMemory of 1048576 bytes is reached: the indices of the operator") {
		t.Errorf("error %q", err)
	}
	if count, _ := x.Look(OpCount, nil); string(count) != fmt.Sprint(added+1) || added < 500 {
		t.Errorf("%s keys of %d objects", count, added)
	}
	before := held(account)
	if err := x.Replace("object0", pairs(strings.Repeat("x", 1<<20))); err == nil {
		t.Error("a large key was not refused")
	}
	if has, _ := x.Look(OpHas, []byte(`"key0"`)); string(has) != "false" {
		t.Error("the index has the object's outdated keys")
	}
	if held(account) >= before {
		t.Errorf("%d bytes of %d are held after an object was discarded", held(account), before)
	}
	if err := x.Replace("object0", pairs("key0")); err != nil {
		t.Errorf("there is room again: %v", err)
	}
	for i := range added {
		x.Discard(fmt.Sprint("object", i))
	}
	if held(account) != 0 {
		t.Errorf("%d bytes are held for nothing", held(account))
	}
}

// TestForgottenIndices checks that the memory of replaced indices is returned to the
// account.
func TestForgottenIndices(t *testing.T) {
	account := accounts.New(accounts.Limits{})
	func() {
		if err := New([]string{"i"}, account).Get("i").Replace("object", pairs("k")); err != nil {
			t.Fatal(err)
		}
	}()
	for deadline := time.Now().Add(time.Minute); held(account) != 0; {
		if time.Now().After(deadline) {
			t.Fatal("they were not given back")
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

// TestCostIsTrue checks that the account counts about as much as the heap grows.
func TestCostIsTrue(t *testing.T) {
	for _, perObject := range []int{1, 10} {
		account := accounts.New(accounts.Limits{})
		x := New([]string{"i"}, account).Get("i")
		before := heaptest.InUse()
		for object := range 50_000 / perObject {
			p := Pairs{}
			for i := range perObject {
				p[fmt.Sprintf(`"key-%08d"`, object*perObject+i)] = []byte("1")
			}
			if err := x.Replace(fmt.Sprintf("uid-%032d", object), p); err != nil {
				t.Fatal(err)
			}
		}
		took, counted := heaptest.InUse()-before, held(account)
		if counted < took*2/3 || counted > took*2 {
			t.Errorf("%d keys of each object: the heap has %d bytes more, the account %d", perObject, took, counted)
		}
		runtime.KeepAlive(x)
	}
}

// TestEmptiedIndices: what objects have taken out of indices takes no memory, because it does not count any more: an operator can
// have thousands of indices, and fill one after another.
func TestEmptiedIndices(t *testing.T) {
	account := accounts.New(accounts.Limits{})
	x := New([]string{"i"}, account).Get("i")
	before := heaptest.InUse()
	replace := func(object int, p Pairs) {
		if err := x.Replace(fmt.Sprintf("uid-%032d", object), p); err != nil {
			t.Fatal(err)
		}
	}
	for object := range 20_000 {
		replace(object, Pairs{"1": []byte("1"), fmt.Sprint(object): []byte("1")})
	}
	for object := range 20_000 - 1 { // one stays, so that the maps do
		replace(object, nil)
	}
	if took := heaptest.InUse() - before; took > 256<<10 {
		t.Errorf("an index with one object takes %d bytes, and %d count", took, held(account))
	}
	runtime.KeepAlive(x)
}

// TestRepeatedKeys: a handler can return one key as often as there may be keys of an object. The last value counts, and the others
// take no memory.
func TestRepeatedKeys(t *testing.T) {
	const objects = 20
	account := accounts.New(accounts.Limits{})
	x := New([]string{"i"}, account).Get("i")
	result := slices.Repeat([]any{[]any{"k", true}}, maxPairs)
	before := heaptest.InUse()
	for object := range objects {
		p, err := ParsePairs(result, true)
		if err != nil || len(p) != 1 {
			t.Fatalf("%d keys, error %v", len(p), err)
		}
		if err := x.Replace(fmt.Sprintf("uid-%032d", object), p); err != nil {
			t.Fatal(err)
		}
	}
	if took := heaptest.InUse() - before; took > 256<<10 {
		t.Errorf("%d objects with one key take %d bytes, and %d count", objects, took, held(account))
	}
	runtime.KeepAlive(x)
}

// TestEmptiedKeys: what objects have taken out of a key takes no memory either, and there can be very many keys.
func TestEmptiedKeys(t *testing.T) {
	const keys, objects = 2000, 60
	account := accounts.New(accounts.Limits{})
	x := New([]string{"i"}, account).Get("i")
	before := heaptest.InUse()
	for object := range objects {
		p := Pairs{}
		for key := range keys {
			p[fmt.Sprintf(`"key-%08d"`, key)] = []byte("1")
		}
		if err := x.Replace(fmt.Sprintf("uid-%032d", object), p); err != nil {
			t.Fatal(err)
		}
	}
	for object := range objects - 2 {
		x.Discard(fmt.Sprintf("uid-%032d", object))
	}
	if took, counted := heaptest.InUse()-before, held(account); took > 2*counted {
		t.Errorf("%d keys of two objects take %d bytes, and %d count", keys, took, counted)
	}
	runtime.KeepAlive(x)
}

// TestLargeAnswers checks that large answers are refused before they are built.
func TestLargeAnswers(t *testing.T) {
	var x Index
	value := fmt.Appendf(nil, "%q", strings.Repeat("x", 1<<20))
	for i := range 64 {
		if err := x.Replace(fmt.Sprint(i), Pairs{`"k"`: value}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := x.Look(OpValues, []byte(`"k"`)); !errors.Is(err, accounts.ErrLimit) {
		t.Errorf("64 MiB of values: %v", err)
	}
	x.Discard("0")
	if values, err := x.Look(OpValues, []byte(`"k"`)); err != nil || len(values) < 63<<20 {
		t.Errorf("63 MiB of values: %d, %v", len(values), err)
	}
}

// TestAnswersTakeTheirOwnMemory: several calls can look for all keys at the same time, and each answer is made once.
func TestAnswersTakeTheirOwnMemory(t *testing.T) {
	var x Index
	for i := range 32 {
		key := fmt.Sprintf("%q", strconv.Itoa(i)+strings.Repeat("x", 1<<20))
		if err := x.Replace(fmt.Sprint(i), Pairs{key: []byte("1")}); err != nil {
			t.Fatal(err)
		}
	}
	var keys []byte
	var err error
	taken := boundedtest.Allocated(func() { keys, err = x.Look(OpKeys, nil) })
	if err != nil || len(keys) < 32<<20 || taken > 40<<20 {
		t.Errorf("%d bytes of keys have taken %d, error %v", len(keys), taken, err)
	}
}

// One index of several resources has one name. Scripts in JavaScript define a property for each name.
func TestIndexOfSeveralResourcesHasOneName(t *testing.T) {
	if got, want := New([]string{"b", "a", "b"}, accounts.New(accounts.Limits{})).Names(), []string{"b", "a"}; !slices.Equal(got, want) {
		t.Errorf("the names are %q, want %q", got, want)
	}
}

// TestLenCounts: the number of pairs is that in the maps, whatever has happened to them.
func TestLenCounts(t *testing.T) {
	s := New([]string{"a"}, accounts.New(accounts.Limits{IndexMemory: 20_000}))
	x := s.Get("a")
	for i := range 1000 {
		pairs := Pairs{}
		for k := range i % 7 {
			pairs[strconv.Itoa(k)] = make([]byte, i)
		}
		object := strconv.Itoa(i % 13)
		if err := x.Replace(object, pairs); i%5 == 0 || err != nil {
			x.Discard(object)
		}
		want := 0
		for _, pairs := range x.keys {
			want += len(pairs)
		}
		if got := s.Len(); got != want {
			t.Fatalf("%d pairs are counted, want %d", got, want)
		}
	}
}
