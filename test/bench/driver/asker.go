package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const reviewText = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",` +
	`"kind":{"group":"kopf.dev","version":"v1","kind":"KopfExample"},"resource":{"group":"kopf.dev","version":"v1","resource":"kopfexamples"},` +
	`"name":"x","namespace":"default","operation":"CREATE","userInfo":{"username":"admin","groups":["system:masters"]},` +
	`"object":{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"x","namespace":"default","uid":"u1"},"spec":{"field":"value","fill":"%s"}},` +
	`"oldObject":null,"dryRun":false}}`

var reviewBody = fmt.Appendf(nil, reviewText, strings.Repeat("x", 300))

// ask sends reviews by so many clients with a connection each, and returns the
// sorted times until their answers, in ms. The clients share the processors with
// the operator, so they do as little as they can: a request is made once, and of
// an answer they look for the words that allow it.
func ask(ctx context.Context, address string, clients, reviews int) ([]float64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var left atomic.Int64
	left.Store(int64(reviews))
	times := make([][]float64, clients)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			c, err := connect(ctx, address)
			if err != nil {
				cancel(err)
				return
			}
			defer c.close()
			for left.Add(-1) >= 0 && ctx.Err() == nil {
				began := time.Now()
				if err := c.ask(); err != nil {
					cancel(err)
					return
				}
				times[i] = append(times[i], time.Since(began).Seconds()*1000)
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return slices.Sorted(slices.Values(slices.Concat(times...))), nil
}

// asker is a client with a connection of HTTP/1.1.
type asker struct {
	conn    net.Conn
	answers *bufio.Reader
	request []byte
	body    []byte // of the last answer
	forget  func() bool
}

// askTimeout bounds one client: what is measured is over much earlier.
const askTimeout = 5 * time.Minute

func connect(ctx context.Context, address string) (*asker, error) {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // its own certificate
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &asker{conn: conn, answers: bufio.NewReader(conn), forget: context.AfterFunc(ctx, func() { conn.Close() })}
	c.request = fmt.Appendf(nil, "POST /check?timeout=30s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		address, len(reviewBody), reviewBody)
	return c, conn.SetDeadline(time.Now().Add(askTimeout))
}

func (c *asker) close() {
	c.forget()
	c.conn.Close()
}

// ask sends the review, and wants it to be allowed.
func (c *asker) ask() error {
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	status, err := c.answer()
	if err != nil {
		return err
	}
	if !strings.Contains(status, " 200 ") || !bytes.Contains(c.body, []byte(`"allowed":true`)) && !bytes.Contains(c.body, []byte(`"allowed": true`)) {
		return fmt.Errorf("the review is not allowed: %s: %s", status, c.body)
	}
	return nil
}

var errNoLength = errors.New("the answer has no length")

// answer reads an answer, whose body has a length, and returns its first line.
func (c *asker) answer() (status string, err error) {
	length := -1
	for {
		line, err := c.answers.ReadSlice('\n')
		if err != nil {
			return "", err
		}
		line = bytes.TrimRight(line, "\r\n")
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case status == "":
			status = string(line)
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return "", err
			}
		}
		if len(line) == 0 {
			break
		}
	}
	if length < 0 {
		return "", errNoLength
	}
	c.body = slices.Grow(c.body[:0], length)[:length]
	_, err = io.ReadFull(c.answers, c.body)
	return status, err
}
