// Package explanation says what an operator would do about an object now, and why: which
// handlers match, which filters exclude the others, how far the handlers have come, and what
// holds a deletion. It decides by the predicates of the reactor, from the state on the object,
// and changes nothing.
package explanation
