package guest

// manyTasks is how many tasks that wait make an instance one of daemons.
const manyTasks = 64

// thrift decides when to collect garbage on an instance of daemons. They hold most of
// its memory, which the runtime would let double before it collects, and memory of
// WebAssembly is never given back.
//
// runtime/debug can set a percentage, but makes each module 95 KB larger.
type thrift struct {
	calls int // since the last time
	tasks int // that waited then
}

// due is called after each call, with the number of tasks that wait: it is time after
// as many calls as there are tasks, and when these have become half as many more.
func (t *thrift) due(tasks int) bool {
	t.calls++
	if tasks < manyTasks || t.calls < tasks && tasks < t.tasks+t.tasks/2 {
		return false
	}
	t.calls, t.tasks = 0, tasks
	return true
}
