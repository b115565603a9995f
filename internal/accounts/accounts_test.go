package accounts

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func used(a *Account, k Kind) int { return a.Usage()[k].Used }

func TestRefusalsNameTheLimit(t *testing.T) {
	a := New(Limits{MemoMemory: 1000})
	if err := a.Take(Memos, 900); err != nil {
		t.Fatal(err)
	}
	err := a.Take(Memos, 101)
	var detail *Error
	if !errors.Is(err, ErrLimit) || !errors.As(err, &detail) || *detail != (Error{Kind: Memos, Limit: 1000, Used: 900, Wanted: 101}) {
		t.Fatalf("error %#v", err)
	}
	for _, want := range []string{"MemoMemory of 1000 bytes", "the memos of the operator take 900 bytes, and 101 more", "--limit MemoMemory=SIZE"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q without %q", err, want)
		}
	}
	if err := a.Take(Memos, 100); err != nil {
		t.Errorf("what was refused has counted: %v", err)
	}
	if err := a.Take(Indices, 1<<20); err != nil {
		t.Errorf("a kind has no limit of its own: %v", err)
	}
	a.Give(Memos, 1000)
	want := Usage{Kind: Memos, Used: 0, Limit: 1000, Refused: 1}
	if got := a.Usage()[Memos]; got != want {
		t.Errorf("usage %+v, want %+v", got, want)
	}
}

// TestKindsAreKnown: each has a name, a default, and a limit that is a field.
func TestKindsAreKnown(t *testing.T) {
	names := map[string]bool{}
	for _, u := range New(Limits{}).Usage() {
		if u.Limit <= 0 || u.Kind.String() == "" || names[u.Kind.String()] {
			t.Errorf("%d: %q, limit %d", u.Kind, u.Kind, u.Limit)
		}
		names[u.Kind.String()] = true
		if _, ok := reflect.TypeFor[Limits]().FieldByName(u.Kind.Limit()); !ok {
			t.Errorf("%s: there is no limit %s", u.Kind, u.Kind.Limit())
		}
	}
	all := reflect.ValueOf(Limits{}.WithDefaults())
	for i := range all.NumField() {
		if all.Field(i).Int() <= 0 {
			t.Errorf("%s has no default", all.Type().Field(i).Name)
		}
	}
}

func TestConcurrentUseLosesNothing(t *testing.T) {
	a := New(Limits{AnswerMemory: 64})
	var users sync.WaitGroup
	for range 8 {
		users.Go(func() {
			for range 10_000 {
				if a.Take(Answers, 16) == nil {
					if n := used(a, Answers); n < 16 {
						t.Errorf("%d bytes are taken, but 16 more were", n)
					}
					a.Give(Answers, 16)
				}
			}
		})
	}
	users.Wait()
	if n := used(a, Answers); n != 0 {
		t.Errorf("%d bytes are left", n)
	}
}

func TestLeases(t *testing.T) {
	a := New(Limits{IndexMemory: 100})
	owner := new(strings.Builder)
	l := NewLease(a, Indices, owner)
	for _, step := range []struct{ resize, want int }{{60, 60}, {100, 100}, {101, 100}, {30, 30}} {
		if err := l.Resize(step.resize); (err != nil) != (step.resize != step.want) {
			t.Errorf("to %d: %v", step.resize, err)
		}
		if n := used(a, Indices); n != step.want {
			t.Errorf("after %d, %d bytes are taken, want %d", step.resize, n, step.want)
		}
	}
	if err := l.Grow(71); err == nil {
		t.Error("grew beyond the limit")
	}
	l.Release()
	l.Release()
	if n := used(a, Indices); n != 0 {
		t.Errorf("%d bytes are left", n)
	}
	runtime.KeepAlive(owner)
}

// TestForgottenLeases are given back when nothing refers to their owners.
func TestForgottenLeases(t *testing.T) {
	a := New(Limits{})
	func() {
		owner := &struct{ text *string }{new(string)}
		if err := NewLease(a, Bodies, owner).Resize(1000); err != nil {
			t.Fatal(err)
		}
		runtime.KeepAlive(owner)
	}()
	for deadline := time.Now().Add(time.Minute); used(a, Bodies) != 0; {
		if time.Now().After(deadline) {
			t.Fatal("the lease was not given back")
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

func TestNoAccountRefusesNothing(t *testing.T) {
	var a *Account
	if a.Take(Memos, 1<<40) != nil || a.Limits().MemoLimit < 1<<40 || a.Usage() != nil {
		t.Error("it counts")
	}
	a.Give(Memos, 1<<40)
	l := NewLease(a, Memos, t)
	if l.Resize(1<<40) != nil || l.Grow(1<<40) != nil {
		t.Error("it counts")
	}
	l.Release()
	if err := a.Refuse(Memos, ErrLimit); !errors.Is(err, ErrLimit) {
		t.Errorf("error %v", err)
	}
}

// TestRefusalsAreLoggedRarely: once in a minute for each kind.
func TestRefusalsAreLoggedRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Limits{MemoMemory: 1, IndexMemory: 1})
		said := 0
		a.Refused = func(error) { said++ }
		for range 3 {
			for range 1000 {
				_ = a.Take(Memos, 2)
				_ = a.Take(Indices, 2)
			}
			time.Sleep(61 * time.Second)
		}
		if said != 6 || a.Usage()[Memos].Refused != 3000 {
			t.Errorf("%d calls, %d refusals", said, a.Usage()[Memos].Refused)
		}
	})
}

func BenchmarkTakeAndGive(b *testing.B) {
	a := New(Limits{})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_ = a.Take(Pending, 1000)
			a.Give(Pending, 1000)
		}
	})
}

// TestReviewsOfAllOperatorsAreBounded: by the bound of the process, unless the limit of an operator is higher.
func TestReviewsOfAllOperatorsAreBounded(t *testing.T) {
	all := newProcess(1000)
	account := func(limit int) *Account {
		a := New(Limits{ReviewMemory: limit})
		a.process = all
		return a
	}
	a, b, larger := account(800), account(800), account(2000)
	if err := a.Take(Reviews, 700); err != nil {
		t.Fatal(err)
	}
	err := b.Take(Reviews, 400)
	var detail *Error
	if !errors.As(err, &detail) || *detail != (Error{Kind: Reviews, Limit: 1000, Used: 700, Wanted: 400, Process: true}) || !strings.Contains(err.Error(), "1000 bytes for all operators") {
		t.Errorf("error %v", err)
	}
	if n := used(b, Reviews); n != 0 {
		t.Errorf("%d bytes were taken", n)
	}
	if err := larger.Take(Reviews, 1300); err != nil {
		t.Errorf("a higher limit does not count: %v", err)
	}
	larger.Give(Reviews, 1300)
	a.Give(Reviews, 700)
	if n := all.used.Load(); n != 0 {
		t.Errorf("%d bytes are left", n)
	}
}

// TestATenantHasHalfOfTheReviews: with all of its operators. Those of another tenant get the rest.
func TestATenantHasHalfOfTheReviews(t *testing.T) {
	all, greedy := newProcess(1000), &Tenant{}
	account := func(of *Tenant) *Account {
		a := New(Limits{ReviewMemory: 400})
		a.process, a.Charge = all, NewCharge(of)
		return a
	}
	decent := &Tenant{}
	one, two, other := account(greedy), account(greedy), account(decent)
	if err := one.Take(Reviews, 400); err != nil {
		t.Fatal(err)
	}
	err := two.Take(Reviews, 101)
	var detail *Error
	if !errors.As(err, &detail) || *detail != (Error{Kind: Reviews, Limit: 500, Used: 400, Wanted: 101, Tenant: true}) || !strings.Contains(err.Error(), "500 bytes for all operators of the namespace") {
		t.Errorf("error %v", err)
	}
	if err := errors.Join(two.Take(Reviews, 100), other.Take(Reviews, 400)); err != nil {
		t.Error(err)
	}
	if err := account(&Tenant{}).Take(Reviews, 200); !errors.As(err, &detail) || !detail.Process {
		t.Errorf("beyond the limit of the process: %v", err)
	}
	one.Give(Reviews, 400)
	two.Give(Reviews, 100)
	other.Give(Reviews, 400)
	if n := used(two, Reviews) + int(all.used.Load()+greedy.reviews.Load()+decent.reviews.Load()); n != 0 {
		t.Errorf("%d bytes are left", n)
	}
}

// TestReviewsWait for those of all operators, until their contexts end. Who wants more than the limit does not wait.
func TestReviewsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newProcess(1000)
		a, b := New(Limits{ReviewMemory: 1000}), New(Limits{ReviewMemory: 600})
		a.process, b.process = all, all
		first, err := Await(t.Context(), a, 900)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Await(t.Context(), b, 601); !errors.Is(err, ErrLimit) {
			t.Errorf("got %v", err)
		}
		ended := make(chan error, 3)
		for range 3 {
			go func() { // Waited for below.
				l, err := Await(t.Context(), b, 300)
				if err == nil {
					time.Sleep(time.Second)
					l.Release()
				}
				ended <- err
			}()
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := Await(short, b, 200); !errors.Is(err, ErrLimit) || b.Usage()[Reviews].Refused != 2 {
			t.Errorf("got %v, %d refusals", err, b.Usage()[Reviews].Refused)
		}
		if len(ended) > 0 {
			t.Error("others did not wait")
		}
		first.Release()
		for range 3 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if n := all.used.Load(); n != 0 || all.waiting.Load() != 0 {
			t.Errorf("%d bytes are left, %d wait", n, all.waiting.Load())
		}
	})
	if l, err := Await(t.Context(), nil, 1<<40); l != nil || err != nil {
		t.Errorf("without an account: %v, %v", l, err)
	}
}

// What is refused does not refuse what others want at the same time.
func TestRefusalsDoNotCount(t *testing.T) {
	const enough = 2_000_000
	a := New(Limits{MemoMemory: 100})
	var refusals atomic.Int64
	var large sync.WaitGroup
	large.Go(func() {
		for refusals.Load() < enough && a.Take(Memos, 101) != nil {
			refusals.Add(1)
		}
	})
	for refusals.Load() < enough {
		if err := a.Take(Memos, 1); err != nil {
			t.Error(err)
			break
		}
		a.Give(Memos, 1)
	}
	large.Wait()
}
