package reactor

import (
	"container/list"
	"strings"
	"sync"
)

// maxStrangers bounds the memos of objects that only reviews have seen.
const maxStrangers = 4096

// strangers are the memos of objects that reviews have seen, but no stream (yet):
// their resources may be watched by nobody, so nobody would ever forget them. The
// longest unused ones are forgotten.
type strangers struct {
	mu    sync.Mutex // guards all below
	items map[string]*list.Element
	order list.List // of stranger, the latest used one first
}

type stranger struct {
	key  string
	memo *memo
}

// recall finds a memo, or makes one.
func (s *strangers) recall(key string, base *memo) *memo {
	s.mu.Lock()
	defer s.mu.Unlock()
	if element, ok := s.items[key]; ok {
		s.order.MoveToFront(element)
		return element.Value.(stranger).memo
	}
	if s.items == nil {
		s.items = map[string]*list.Element{}
	}
	item := stranger{strings.Clone(key), newMemo(base)} // the key is a part of the review
	s.items[item.key] = s.order.PushFront(item)
	if s.order.Len() > maxStrangers {
		s.remove(s.order.Back())
	}
	return item.memo
}

// know tells whether there is a memo.
func (s *strangers) know(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.items[key]
	return ok
}

// take removes a memo; nil if there is none.
func (s *strangers) take(key string) *memo {
	s.mu.Lock()
	defer s.mu.Unlock()
	element, ok := s.items[key]
	if !ok {
		return nil
	}
	return s.remove(element).memo
}

func (s *strangers) remove(element *list.Element) stranger {
	item := s.order.Remove(element).(stranger)
	delete(s.items, item.key)
	return item
}

// reviewed is the memo of an object that is reviewed: its own, if it is known. That of
// an object that is being created is thrown away.
func (m *memories) reviewed(uid string, created bool) *memo {
	m.mu.Lock()
	defer m.mu.Unlock()
	if item, ok := m.items[uid]; ok {
		return item.memo
	}
	if uid == "" || created && !m.strangers.know(uid) {
		return newMemo(m.base)
	}
	return m.strangers.recall(uid, m.base)
}
