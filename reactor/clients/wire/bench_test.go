package wire

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkPatch compares patches with those by net/http. The server is in the same process; it
// replays an answer of an API server and allocates nothing.
func BenchmarkPatch(b *testing.B) {
	server, below := secure(b, echo, nil)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: server.TLS.Certificates, MinVersion: tls.VersionTLS13})
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close()
	go replay(listener)
	target := "https://" + listener.Addr().String()
	for _, tt := range []struct {
		name string
		rt   http.RoundTripper
	}{{"net-http", below.Transport}, {"own", own(b, below, target)}} {
		b.Run(tt.name, func(b *testing.B) {
			client := &http.Client{Transport: tt.rt}
			defer client.CloseIdleConnections()
			body := strings.Repeat("x", 600)
			b.ReportAllocs()
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r := request(b, b.Context(), http.MethodPatch, target+"/apis/kopf.dev/v1/namespaces/default/kopfexamples/x", body)
					rsp, err := client.Do(r)
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, rsp.Body)
					rsp.Body.Close()
				}
			})
		})
	}
}

// replay answers each request of 600 bytes.
func replay(listener net.Listener) {
	answer := []byte("HTTP/1.1 200 OK\r\nAudit-Id: 5f1f1b34-5a7f-4cfa-94f3-4c1a2a3c1b2d\r\nCache-Control: no-cache, private\r\nContent-Type: application/json\r\n" +
		"X-Kubernetes-Pf-Flowschema-Uid: 5f1f1b34-5a7f-4cfa-94f3-4c1a2a3c1b2d\r\nX-Kubernetes-Pf-Prioritylevel-Uid: 5f1f1b34-5a7f-4cfa-94f3-4c1a2a3c1b2d\r\n" +
		"Date: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Length: 1000\r\n\r\n" + strings.Repeat("x", 1000))
	for {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			from := bufio.NewReader(c)
			for {
				for {
					line, err := from.ReadSlice('\n')
					if err != nil {
						return
					}
					if len(bytes.TrimSpace(line)) == 0 {
						break
					}
				}
				if _, err := from.Discard(600); err != nil {
					return
				}
				if _, err := c.Write(answer); err != nil {
					return
				}
			}
		}()
	}
}
