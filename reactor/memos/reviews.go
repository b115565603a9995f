package memos

import (
	"container/list"
	"strings"

	"github.com/kopf-wasm/kopf/internal/accounts"
)

// maxReviewMemos limits the memos of objects that only reviews have seen.
const maxReviewMemos = 4096

// Reviewed holds the memos of objects that reviews have seen, but no stream. Their
// resources may have no stream, so no deletion would remove their memos. When the limit is
// reached, the least recently used memo is removed. It is not safe for concurrent use.
type Reviewed struct {
	items map[string]*list.Element
	order list.List // of reviewMemo; the most recently used first
}

type reviewMemo struct {
	key  string
	memo *Memo
}

// Recall returns the memo of an object, and creates it if necessary.
func (s *Reviewed) Recall(key string, base *Memo, account *accounts.Account) *Memo {
	if element, ok := s.items[key]; ok {
		s.order.MoveToFront(element)
		return element.Value.(reviewMemo).memo
	}
	if s.items == nil {
		s.items = map[string]*list.Element{}
	}
	item := reviewMemo{strings.Clone(key), New(base, account)} // a clone, because the key is a part of the review
	s.items[item.key] = s.order.PushFront(item)
	if s.order.Len() > maxReviewMemos {
		s.remove(s.order.Back())
	}
	return item.memo
}

// Know reports whether an object has a memo.
func (s *Reviewed) Know(key string) bool {
	_, ok := s.items[key]
	return ok
}

// Take removes and returns a memo; nil if the object has none.
func (s *Reviewed) Take(key string) *Memo {
	element, ok := s.items[key]
	if !ok {
		return nil
	}
	return s.remove(element).memo
}

func (s *Reviewed) remove(element *list.Element) reviewMemo {
	item := s.order.Remove(element).(reviewMemo)
	delete(s.items, item.key)
	return item
}
