package stores

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// isoPattern matches the timestamps that Kopf accepts: a date or a part of it, a
// time or a part of it, and a zone, all with or without separators. A year with only a month
// needs the dash. The pattern is compiled at the first use, not at each start of the program.
var isoPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?P<year>[0-9]{4})` +
		`(?:-(?P<monthOnly>[0-9]{1,2})|` +
		`(?:-(?P<monthDash>[0-9]{1,2})|(?P<month>[0-9]{2}))` +
		`(?:-(?P<dayDash>[0-9]{1,2})|(?P<day>[0-9]{2}))` +
		`(?:[ T](?P<hour>[0-9]{2})(?::?(?P<minute>[0-9]{2}))?` +
		`(?::?(?P<second>[0-9]{1,2})(?:[.,](?P<fraction>[0-9]+))?)?` +
		`(?P<zone>Z|(?P<sign>[-+])(?P<zoneHour>[0-9]{2}):?(?P<zoneMinute>[0-9]{2})?)?)?)?$`)
})

// FormatTime formats a timestamp for storage: with six digits of the second and with the
// zone as an offset, e.g. 2020-01-01T00:00:00.000000+00:00.
func FormatTime(t time.Time) string {
	return t.Format("2006-01-02T15:04:05.000000-07:00")
}

// ParseTime parses a timestamp in any of the usual forms of ISO 8601. It cuts digits beyond
// microseconds. Without a zone, the time is in UTC, and aware is false.
func ParseTime(text string) (t time.Time, aware bool, err error) {
	pattern := isoPattern()
	match := pattern.FindStringSubmatch(text)
	if match == nil {
		return time.Time{}, false, fmt.Errorf("%q is not a timestamp", text)
	}
	group := func(name string) string { return match[pattern.SubexpIndex(name)] }
	year := number(group("year"), 0)
	month := number(group("monthOnly")+group("monthDash")+group("month"), 1) // the pattern matches at most one
	day := number(group("dayDash")+group("day"), 1)
	hour, minute, second := number(group("hour"), 0), number(group("minute"), 0), number(group("second"), 0)
	zone, ok := parseZone(group("zone"), group("sign"), number(group("zoneHour"), 0), number(group("zoneMinute"), 0))
	t = time.Date(year, time.Month(month), day, hour, minute, second, nanoseconds(group("fraction")), zone)

	// time.Date normalises impossible values, such as Feb 30 to Mar 1.
	possible := year > 0 && t.Month() == time.Month(month) && t.Day() == day &&
		hour < 24 && minute < 60 && second < 60
	if !ok || !possible {
		return time.Time{}, false, fmt.Errorf("%q is not a possible time", text)
	}
	return t, group("zone") != "", nil
}

// parseZone fails for offsets of a day or more.
func parseZone(zone, sign string, hours, minutes int) (*time.Location, bool) {
	offset := hours*3600 + minutes*60
	if zone == "" || zone == "Z" || offset == 0 {
		return time.UTC, true
	}
	if sign == "-" {
		offset = -offset
	}
	return time.FixedZone("", offset), hours*60+minutes < 24*60
}

// nanoseconds converts the digits after the point, up to microseconds.
func nanoseconds(fraction string) int {
	return number((fraction + strings.Repeat("0", 6))[:6], 0) * int(time.Microsecond)
}

// number parses digits, or returns the default for an empty text.
func number(digits string, fallback int) int {
	if digits == "" {
		return fallback
	}
	n, _ := strconv.Atoi(digits) // the pattern ensures that it fits
	return n
}
