package kopfslog_test

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopfslog"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopftest"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func TestHandler(t *testing.T) {
	host := kopftest.New(t)
	log := slog.New(kopfslog.NewHandler(host.Change(kopftest.Fixture{}).Log))
	log.Debug("plain")
	log.Info("resized", "size", 5, "zone", "eu 1", slog.Group("by", "user", "me"), slog.Attr{})
	log.With("a", 1).WithGroup("request").With("b", true).Warn("late", "took", 2*time.Second)
	log.Error("failed", "error", errors.New("boo hoo"), "list", []int{1, 2})
	log.Log(context.Background(), slog.LevelError+4, "over")
	want := []kopftest.Log{
		{Level: kopf.LevelDebug, Text: "plain"},
		{Level: kopf.LevelInfo, Text: `resized size=5 zone="eu 1" by.user=me`},
		{Level: kopf.LevelWarn, Text: "late a=1 request.b=true request.took=2s"},
		{Level: kopf.LevelError, Text: `failed error="boo hoo" list=[1,2]`},
		{Level: kopf.LevelCritical, Text: "over"},
	}
	if !reflect.DeepEqual(host.Logs, want) {
		t.Errorf("logged %v, want %v", host.Logs, want)
	}
}

func TestHandlersShareNoAttributes(t *testing.T) {
	host := kopftest.New(t)
	base := slog.New(kopfslog.NewHandler(host.Change(kopftest.Fixture{}).Log)).With("a", 1, "b", 2, "c", 3)
	first, second := base.With("d", "first"), base.With("d", "second")
	first.Info("x")
	second.Info("x")
	if got := host.Logs[0].Text; got != "x a=1 b=2 c=3 d=first" {
		t.Errorf("logged %q", got)
	}
}
