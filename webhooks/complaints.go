package webhooks

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"
)

// complaints log what clients do wrong, without letting them fill the log: of each
// reason, the first line at once, and in each interval after that one line with the
// number of others.
type complaints struct {
	log zerolog.Logger

	mu   sync.Mutex // guards more
	more map[string]*more
}

// more are the complaints of an interval after the first one.
type more struct {
	count int
	last  string
}

// complaintInterval is the time between two lines of one reason. There are few reasons.
const complaintInterval = 5 * time.Second

func newComplaints(log zerolog.Logger) *complaints {
	return &complaints{log: log, more: map[string]*more{}}
}

func (c *complaints) warn(reason, message string) { c.say(zerolog.WarnLevel, reason, message) }

func (c *complaints) debug(reason, message string) { c.say(zerolog.DebugLevel, reason, message) }

func (c *complaints) say(level zerolog.Level, reason, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.more[reason]; m != nil {
		m.count++
		m.last = message
		return
	}
	c.more[reason] = &more{}
	c.log.WithLevel(level).Msg(message)
	time.AfterFunc(complaintInterval, func() { c.next(level, reason) })
}

// next ends an interval. Without complaints in it, the next one is a first one again.
func (c *complaints) next(level zerolog.Level, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.more[reason]
	if m.count == 0 {
		delete(c.more, reason)
		return
	}
	if m.count > 1 {
		m.last = fmt.Sprintf("%s (and %d more like this in %v)", m.last, m.count-1, complaintInterval)
	}
	c.log.WithLevel(level).Msg(m.last)
	c.more[reason] = &more{}
	time.AfterFunc(complaintInterval, func() { c.next(level, reason) })
}

// maxQuoted bounds what messages repeat of a request, in bytes.
const maxQuoted = 200

// cut shortens a text of a client for messages.
func cut(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	end := maxQuoted
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.ToValidUTF8(text[:end], "\uFFFD") + "…"
}
