package crowd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

// TestEvictionOfBodies: there is memory for 10 MiB, and for what requests cost in
// addition. Each step is a new body of a client, or an event of one, by its number: it
// grows by a number of MiB (+), is complete (!), or is released (-).
func TestEvictionOfBodies(t *testing.T) {
	from := map[string]netip.Prefix{"a": netip.MustParsePrefix("10.0.0.1/32"), "b": netip.MustParsePrefix("10.0.0.2/32")}
	for _, tt := range []struct {
		name  string
		steps string
		gone  string // the numbers of those that had to make room
	}{
		{"there is room", "a 0+4 b 1+4", ""},
		{"the oldest of who has most", "a 0+2 a 1+4 b 2+3 2+2", "0"},
		{"not a smaller client", "b 0+2 a 1+4 a 2+4 2+2", "1"},
		{"the one that grows, if it is that", "b 0+2 a 1+6 1+4", "1"},
		{"not one that is whole", "a 0+6 0! b 1+2 b 2+2 2+2", "1"},
		{"all others stay if they would not be enough", "a 0+8 0! b 1+1 b 2+5", "2"},
		{"what was released leaves room", "a 0+6 0! 0- b 1+6", ""},
		{"what had to make room leaves it", "a 0+9 b 1+5 b 2+4", "0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := NewMemory(10 << 20)
			var bodies []*Body
			gone := ""
			for step := range strings.FieldsSeq(tt.steps) {
				if client, ok := from[step]; ok {
					name := string(rune('0' + len(bodies)))
					m.all += requestCost
					at := len(bodies)
					b, err := m.Begin(t.Context(), nil, client, func() {
						gone += name
						go bodies[at].Release() // as the reader does whose reads fail
					})
					if err != nil {
						t.Fatal(err)
					}
					bodies = append(bodies, b)
					continue
				}
				b := bodies[step[0]-'0']
				var err error
				switch step[1] {
				case '+':
					err = b.Grow(t.Context(), int64(step[2]-'0')<<20)
				case '!':
					err = b.whole()
				case '-':
					b.Release()
				}
				if errors.Is(err, ErrMemory) && !strings.Contains(gone, step[:1]) {
					gone += step[:1]
					b.Release()
				}
			}
			if gone != tt.gone {
				t.Errorf("%q had to make room, want %q", gone, tt.gone)
			}
			for _, b := range bodies {
				b.Release()
				b.Release() // once is enough
			}
			if m.used != 0 || m.dropped != 0 || m.coming != 0 || len(m.clients) != 0 {
				t.Errorf("in the end %d bytes are used, %d dropped, %d are coming, %d clients are known", m.used, m.dropped, m.coming, len(m.clients))
			}
		})
	}
}

// TestReadingBodies: bodies are read completely, in any pieces and with any announced size.
func TestReadingBodies(t *testing.T) {
	for _, size := range []int{0, 1, 511, 512, 513, believed - 1, believed, believed + 1, 1 << 20} {
		for _, announced := range []int64{-1, 0, int64(size), 1 << 40} {
			m := NewMemory(8 << 20)
			b, err := m.Begin(t.Context(), nil, netip.Prefix{}, func() {})
			if err != nil {
				t.Fatal(err)
			}
			want := bytes.Repeat([]byte("x"), size)
			got, err := b.Read(t.Context(), iotest.OneByteReader(bytes.NewReader(want)), announced, 1<<20)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, announced as %d: %d are read, %v", size, announced, len(got), err)
			}
			if most := int64(min(2*size, 1<<20) + believed + bytes.MinRead + requestCost); m.used > most {
				t.Errorf("%d bytes, announced as %d, count as %d; at most %d are expected", size, announced, m.used, most)
			}
			b.Release()
			if m.used != 0 {
				t.Errorf("%d bytes are left", m.used)
			}
		}
	}
}

// TestDroppedBodies are not read, even if they come. Their memory counts until their readers
// have ended.
func TestDroppedBodies(t *testing.T) {
	m := NewMemory(3*requestCost + 1<<20)
	aborted := make(chan struct{})
	slow, err := m.Begin(t.Context(), nil, netip.Prefix{}, func() { close(aborted) })
	if err != nil {
		t.Fatal(err)
	}
	if err := slow.Grow(t.Context(), 800<<10); err != nil {
		t.Fatal(err)
	}
	other, err := m.Begin(t.Context(), nil, netip.Prefix{}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Release()
	grown := make(chan error, 1)
	go func() { grown <- other.Grow(t.Context(), 800<<10) }()
	<-aborted
	if _, err := slow.Read(t.Context(), io.LimitReader(strings.NewReader("late"), 4), 4, 4); !errors.Is(err, ErrMemory) {
		t.Errorf("error %v", err)
	}
	select {
	case err := <-grown:
		t.Errorf("a body has grown into memory that is in use: %v", err)
	default:
	}
	impatient, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrNoProgress)
	if err := other.Grow(impatient, 800<<10); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("error %v at the end of a request that waits for memory", err)
	}
	slow.Release()
	if err := <-grown; err != nil {
		t.Errorf("error %v although the memory is free", err)
	}
}

// TestOperatorsShareTheMemoryOfTheirServer: a body counts in the memory of its operator and in that of all. If there is no room in the
// latter, a body of the client with the most is dropped, whoever's it is, and its reader does not wait for its operator's memory.
func TestOperatorsShareTheMemoryOfTheirServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, own, others := NewMemory(4*requestCost), NewMemory(3*requestCost), NewMemory(100*requestCost)
		rich, poor := netip.MustParsePrefix("10.0.0.1/32"), netip.MustParsePrefix("10.0.0.2/32")
		begin := func(m *Memory, from netip.Prefix) (b *Body, aborted func() bool) {
			t.Helper()
			dropped := false
			b, err := m.Begin(t.Context(), all, from, func() { dropped = true })
			if err != nil {
				t.Fatal(err)
			}
			return b, func() bool { return dropped }
		}
		first, firstAborted := begin(own, rich)
		second, secondAborted := begin(own, rich)
		third, _ := begin(own, rich)
		waiting := make(chan error)
		go func() { waiting <- second.growHere(t.Context(), requestCost) }() // drops the first, and waits for its reader
		synctest.Wait()
		if !firstAborted() || secondAborted() {
			t.Fatalf("aborted: %v, %v", firstAborted(), secondAborted())
		}
		grown := make(chan error)
		other, _ := begin(others, poor)
		go func() { grown <- other.Grow(t.Context(), 2*requestCost) }() // drops both in the memory of all
		synctest.Wait()
		if err := <-waiting; !errors.Is(err, ErrMemory) || !secondAborted() {
			t.Errorf("the reader of the second body waits for its operator: %v", err)
		}
		first.Release()
		second.Release()
		if err := <-grown; err != nil {
			t.Errorf("another operator: %v", err)
		}
		if err := third.whole(); err != nil {
			t.Error(err)
		}
		third.Release()
		other.Release()
		for _, m := range []*Memory{all, own, others} {
			if m.used != 0 || m.dropped != 0 || m.coming != 0 || len(m.clients) != 0 {
				t.Errorf("in the end, %d bytes are used, %d dropped, %d coming, of %d clients", m.used, m.dropped, m.coming, len(m.clients))
			}
		}
	})
}

// TestOperatorsOfANamespaceHaveHalfOfTheMemory: their handlers are slow, and the API server is the only client. Reviews for the operators
// of another namespace have room.
func TestOperatorsOfANamespaceHaveHalfOfTheMemory(t *testing.T) {
	const all = 64 << 20
	server := NewMemory(all)
	greedy, other := server.Half(), server.Half()
	from := netip.MustParsePrefix("10.0.0.1/32")
	handle := func(shared *Memory, size int64) error { // never ends
		b, err := NewMemory(all).Begin(t.Context(), shared, from, func() {})
		if err == nil {
			err = b.Grow(t.Context(), size)
		}
		if err == nil {
			err = b.whole()
		}
		return err
	}
	if err := handle(greedy, all/2-requestCost); err != nil {
		t.Error(err)
	}
	if err := handle(greedy, 1); !errors.Is(err, ErrMemory) {
		t.Errorf("operators of a namespace have more than half: %v", err)
	}
	if err := handle(other, all/2-requestCost); err != nil {
		t.Errorf("an operator of another namespace: %v", err)
	}
}
