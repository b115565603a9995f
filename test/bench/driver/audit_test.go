package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCountRequests(t *testing.T) {
	lines := []string{
		`{"stage":"ResponseComplete","verb":"patch","user":{"username":"a"},"objectRef":{"resource":"kopfexamples"},"responseStatus":{"code":200}}`,
		`{"stage":"ResponseComplete","verb":"patch","user":{"username":"a"},"objectRef":{"resource":"kopfexamples"},"responseStatus":{"code":200}}`,
		`{"stage":"ResponseComplete","verb":"patch","user":{"username":"a"},"objectRef":{"resource":"kopfexamples","subresource":"status"},"responseStatus":{"code":409}}`,
		`{"stage":"ResponseComplete","verb":"create","user":{"username":"a"},"objectRef":{"resource":"events"},"responseStatus":{"code":201}}`,
		`{"stage":"ResponseComplete","verb":"list","user":{"username":"a"},"objectRef":{"resource":"kopfexamples"},"responseStatus":{"code":200}}`,
		`{"stage":"ResponseStarted","verb":"watch","user":{"username":"a"},"objectRef":{"resource":"kopfexamples"},"responseStatus":{"code":200}}`,
		`{"stage":"ResponseComplete","verb":"watch","user":{"username":"a"},"objectRef":{"resource":"kopfexamples"},"responseStatus":{"code":200}}`,
		`{"stage":"ResponseComplete","verb":"patch","user":{"username":"b"},"objectRef":{"resource":"kopfexamples"},"responseStatus":{"code":200}}`,
		`{"stage":"ResponseComplete","verb":"pat`, // being written
	}
	all, writes, err := countRequests([]byte(strings.Join(lines, "\n")), "a")
	if err != nil {
		t.Fatal(err)
	}
	want := requests{
		"patch kopfexamples": 2, "patch kopfexamples/status (409)": 1, "create events": 1,
		"list kopfexamples": 1, "watch kopfexamples": 1,
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if writes != 4 {
		t.Errorf("%d writes, want 4", writes)
	}
	if got, want := want.String(), "2 patch kopfexamples, 1 create events, 1 list kopfexamples, "+
		"1 patch kopfexamples/status (409), 1 watch kopfexamples"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCountRequestsOfBrokenLog(t *testing.T) {
	if _, _, err := countRequests([]byte("what\n"), "a"); err == nil {
		t.Error("no error")
	}
}
