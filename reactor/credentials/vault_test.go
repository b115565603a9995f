package credentials

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

func token(token string) Info { return Info{Config: &rest.Config{Host: "h", BearerToken: token}} }

// run runs a vault whose logins return the given credentials one after another.
func run(t *testing.T, logins ...map[string]Info) (v *Vault, calls *int, failed chan error) {
	t.Helper()
	calls, failed = new(int), make(chan error, 1)
	v = New(func(_ context.Context, again bool) (map[string]Info, error) {
		*calls++
		if again != (*calls > 1) {
			t.Errorf("login #%d: again is %v", *calls, again)
		}
		if *calls > len(logins) {
			return nil, errors.New("no more logins")
		}
		return logins[*calls-1], nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { // The clean-up waits for it.
		defer close(done)
		failed <- v.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return v, calls, failed
}

func take(t *testing.T, v *Vault) *Item {
	t.Helper()
	item, err := v.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return item
}

// taken returns the tokens that a vault returns in many calls.
func taken(t *testing.T, v *Vault) []string {
	t.Helper()
	found := map[string]bool{}
	for range 100 {
		found[take(t, v).Config.BearerToken] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func TestTheHighestPriorityIsTakenAtRandom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		low, a, b := token("low"), token("a"), token("b")
		low.Priority, a.Priority, b.Priority = -2, math.MaxInt, math.MaxInt
		v, calls, _ := run(t, map[string]Info{"low": low, "a": a, "b": b})
		if got := taken(t, v); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("taken are %q, want a and b", got)
		}
		v.Invalidate(take(t, v), errors.New("401"))
		if got := taken(t, v); len(got) != 1 || got[0] == "low" {
			t.Errorf("taken are %q, want the other one of a and b", got)
		}
		v.Invalidate(take(t, v), errors.New("401"))
		if got := taken(t, v); !slices.Equal(got, []string{"low"}) {
			t.Errorf("taken are %q, want the last one", got)
		}
		if *calls != 1 {
			t.Errorf("%d logins, want one", *calls)
		}
	})
}

func TestRefusedCredentialsAreReplacedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, calls, _ := run(t, map[string]Info{"x": token("old")}, map[string]Info{"x": token("old"), "y": token("new")})
		old := take(t, v)
		cause := errors.New("401")
		v.Invalidate(old, cause)
		v.Invalidate(old, cause) // as other requests do
		for range 3 {
			go func() { _, _ = v.Take(t.Context()) }() // as other requests do
		}
		if got := taken(t, v); !slices.Equal(got, []string{"new"}) {
			t.Errorf("taken are %q, want the new one only", got)
		}
		if *calls != 2 {
			t.Errorf("%d logins, want two", *calls)
		}
		select {
		case <-old.Gone():
		default:
			t.Error("the user of the old credentials gets no signal")
		}
	})
}

func TestDepletion(t *testing.T) {
	later := func(info Info, at time.Time) Info { info.Expiration = at; return info }
	tests := []struct {
		name   string
		logins []map[string]Info
		want   string
	}{
		{"nothing", []map[string]Info{{}}, "ran out of valid credentials: the login handlers return none"},
		{"expired before", []map[string]Info{{"x": later(token("a"), time.Unix(1, 0).UTC())}}, `ran out of valid credentials: those of "x" have expired at 1970-01-01T00:00:01Z`},
		{"the same again", []map[string]Info{{"x": token("a")}, {"x": token("a")}}, "ran out of valid credentials: 401"},
		{"the same, but longer", []map[string]Info{{"x": token("a")}, {"x": later(token("a"), time.Now().Add(time.Hour))}}, "ran out of valid credentials: 401"},
		{"a login that fails", []map[string]Info{{"x": token("a")}}, "no more logins"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v, _, failed := run(t, test.logins...)
				for range len(test.logins) {
					if item, err := v.Take(t.Context()); err == nil {
						v.Invalidate(item, errors.New("401"))
					}
				}
				_, err := v.Take(t.Context())
				if err == nil || err.Error() != test.want {
					t.Errorf("got %v, want %q", err, test.want)
				}
				if ended := <-failed; !errors.Is(ended, err) {
					t.Errorf("the vault ended with %v, want the same error", ended)
				}
			})
		})
	}
}

func TestExpirationMeansAnotherLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		soon, later := token("a"), token("b")
		soon.Expiration, later.Expiration = time.Now().Add(time.Minute), time.Now().Add(time.Hour)
		v, calls, _ := run(t, map[string]Info{"x": soon, "y": later}, map[string]Info{"x": token("c")})
		taken(t, v)
		time.Sleep(2 * time.Minute)
		if got := taken(t, v); !slices.Equal(got, []string{"b"}) || *calls != 1 {
			t.Errorf("taken are %q after %d logins, want b after one", got, *calls)
		}
		time.Sleep(2 * time.Hour)
		if got := taken(t, v); !slices.Equal(got, []string{"c"}) || *calls != 2 {
			t.Errorf("taken are %q after %d logins, want c after two", got, *calls)
		}
	})
}

// TestLoginsHavePauses checks that a login handler that invents credentials does not cause
// a busy loop.
func TestLoginsHavePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logins []map[string]Info
		for i := range 10 {
			logins = append(logins, map[string]Info{"x": token(fmt.Sprint(i))})
		}
		v, _, _ := run(t, logins...)
		begin := time.Now()
		for range logins {
			v.Invalidate(take(t, v), errors.New("401"))
		}
		if took := time.Since(begin); took != 9*loginPause {
			t.Errorf("ten logins took %v, want %v", took, 9*loginPause)
		}
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := New(nil)
		v.login = func(ctx context.Context, _ bool) (map[string]Info, error) { <-ctx.Done(); return nil, ctx.Err() }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() { _ = v.Run(ctx) }()
		if _, err := v.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the error of the context", err)
		}
	})
}

func TestLastingCredentialsStay(t *testing.T) {
	v := Lasting(token("a"))
	first := take(t, v)
	if v.Invalidate(first, errors.New("401")) {
		t.Error("there are others")
	}
	select {
	case <-first.Gone():
		t.Error("they are gone")
	default:
	}
	if take(t, v) != first {
		t.Error("there are others")
	}
}

func TestFixedCredentialsHaveNoSuccessors(t *testing.T) {
	v := Of(token("a"))
	cause := errors.New("401")
	v.Invalidate(take(t, v), cause)
	if _, err := v.Take(t.Context()); !errors.Is(err, ErrDepleted) || !errors.Is(err, cause) {
		t.Errorf("got %v, want that there are no more, and why", err)
	}
}
