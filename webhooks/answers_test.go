package webhooks

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/accounts"
)

// inflating converts each object to a large one.
type inflating struct {
	Operator
	account   *accounts.Account
	size      int
	converted int
}

func (o *inflating) Reserve(ctx context.Context, bytes int) (*accounts.Lease, error) {
	return accounts.Await(ctx, o.account, bytes)
}

func (o *inflating) Convert(context.Context, []byte, string) ([]byte, error) {
	o.converted++
	return fmt.Appendf(nil, "%q", strings.Repeat("x", o.size)), nil
}

// TestInflatedConversionsFail: results that are larger than their objects are limited together, not one by one.
func TestInflatedConversionsFail(t *testing.T) {
	const limit, count = 8 << 20, 200
	ask := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"g/v2","objects":[` +
		strings.Repeat(`{"a":1},`, count-1) + `{"a":1}]}}`
	for _, tt := range []struct {
		size      int
		converted int // at most
		want      string
	}{{1000, count, `"status":"Success"`}, {1 << 20, limit >> 20, "the limit ReviewMemory of 8388608 bytes is reached"}} {
		o := &inflating{account: accounts.New(accounts.Limits{ReviewMemory: limit}), size: tt.size}
		w := httptest.NewRecorder()
		NewHandler(o, Limits{}, zerolog.Nop()).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/-/convert", strings.NewReader(ask)))
		if !strings.Contains(w.Body.String(), tt.want) || o.converted > tt.converted {
			t.Errorf("%d bytes each: %d were converted, %.300s", tt.size, o.converted, w.Body)
		}
		if used := o.account.Usage()[accounts.Reviews].Used; used != 0 {
			t.Errorf("%d bytes are held afterwards", used)
		}
		var answer conversionAnswer
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Error(err)
		}
	}
}

// breaking panics when it converts.
type breaking struct{ inflating }

func (*breaking) Convert(context.Context, []byte, string) ([]byte, error) { panic("a defect") }

// TestBrokenConversionsHoldNoMemory: it is that of all operators of the process, whose reviews would wait for it for ever.
func TestBrokenConversionsHoldNoMemory(t *testing.T) {
	o := &breaking{inflating{account: accounts.New(accounts.Limits{})}}
	const ask = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"g/v2","objects":[{"a":1}]}}`
	w := httptest.NewRecorder()
	NewHandler(o, Limits{}, zerolog.Nop()).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/-/convert", strings.NewReader(ask)))
	if used := o.account.Usage()[accounts.Reviews].Used; used != 0 || w.Code != http.StatusInternalServerError {
		t.Errorf("%d bytes are held after %d %s", used, w.Code, w.Body)
	}
}

// TestAnswersHaveBoundedMemory: clients that ask and do not read lose their connections when there are many. Others get their answers.
func TestAnswersHaveBoundedMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, fit, deaf = 1 << 20, 4, 12
		handler := NewHandler(allowing{warning: strings.Repeat("x", size)}, Limits{Memory: fit*size + size/2, Conversion: 1}, zerolog.Nop())
		server, _ := servePipes(t, &LocalServer{}, nil, handler)
		var conns []net.Conn
		for range deaf {
			conn := server.dial()
			defer conn.Close()
			conns = append(conns, conn)
			if _, err := io.WriteString(conn, requestHead("/check", len(smallReview))+smallReview); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // it is being answered
		}
		if line := askOver(t, server.dial(), "/check"); !strings.HasPrefix(line, "HTTP/1.1 200") {
			t.Errorf("a client that reads is answered %q", line)
		}
		whole := 0
		for _, conn := range conns {
			if rsp, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
				text, err := io.ReadAll(rsp.Body)
				if err == nil && len(text) > size {
					whole++
				}
				_ = rsp.Body.Close()
			}
		}
		if whole == 0 || whole > fit {
			t.Errorf("%d answers were kept for clients that did not read; there is room for %d", whole, fit)
		}
	})
}
