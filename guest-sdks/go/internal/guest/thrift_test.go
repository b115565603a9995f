package guest

import "testing"

func TestThrift(t *testing.T) {
	times := func(calls int, tasks func(i int) int) (n int) {
		var thrifty thrift
		for i := range calls {
			if thrifty.due(tasks(i)) {
				n++
			}
		}
		return n
	}
	if n := times(10_000, func(int) int { return manyTasks - 1 }); n != 0 {
		t.Errorf("few tasks: %d times, want never", n)
	}
	if n := times(1000, func(i int) int { return i }); n < 6 || n > 10 {
		t.Errorf("while 1,000 tasks start: %d times, want one for each half more", n)
	}
	if n := times(10_000, func(int) int { return 1000 }); n != 10 {
		t.Errorf("while 1,000 tasks are called ten times: %d times, want once for each", n)
	}
}
