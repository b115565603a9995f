package reactor

// Census is what an operator holds in memory for the objects that it serves.
type Census struct {
	Objects int // with memories and memos
	Daemons int // and timers that run, for all objects
	Indexed int // pairs of objects and keys in all indices
}

// Census counts. It may be called at any time, and waits for nobody.
func (op *Operator) Census() Census {
	op.memories.mu.Lock()
	c := Census{Objects: len(op.memories.items)}
	op.memories.mu.Unlock()
	c.Daemons = len(op.memories.daemons())
	c.Indexed = op.indices.Len()
	return c
}
