package webhooks

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"
)

// complaints logs client errors at a limited rate. For each reason, it logs the first line
// at once, and then one line with the number of suppressed lines in each interval.
type complaints struct {
	log zerolog.Logger

	mu   sync.Mutex // guards more
	more map[string]*more
}

// more counts the suppressed complaints of an interval.
type more struct {
	count int
	last  string
}

// complaintInterval is the time between two lines of one reason. The number of reasons is
// small.
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

// next ends an interval. After an interval without complaints, the next complaint is logged
// at once.
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

// maxQuoted bounds the part of a request that messages quote, in bytes.
const maxQuoted = 200

// cut shortens a client's text for messages.
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
