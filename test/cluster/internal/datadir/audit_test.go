package datadir

import (
	"slices"
	"strings"
	"testing"
)

func TestAuditPolicy(t *testing.T) {
	tests := []struct {
		name  string
		users []string
		want  string
	}{
		{
			name:  "some",
			users: []string{"alice", "system:serviceaccount:a:b"},
			want: `rules:
- {level: RequestResponse, verbs: [create, update, patch, delete, deletecollection], users: ["alice", "system:serviceaccount:a:b"]}
- {level: Metadata, users: ["alice", "system:serviceaccount:a:b"]}
- {level: None}
`,
		},
		{
			name:  "everybody",
			users: []string{Everybody},
			want: `rules:
- {level: RequestResponse, verbs: [create, update, patch, delete, deletecollection]}
- {level: Metadata}
- {level: None}
`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := auditPolicy(tt.users); !strings.HasSuffix(got, tt.want) {
				t.Errorf("got:\n%s\nwant at the end:\n%s", got, tt.want)
			}
		})
	}
}

func TestAuditUsers(t *testing.T) {
	tests := []struct {
		name, list string
		want       []string
	}{
		{"default", "", Operators()},
		{"list", "alice, bob", []string{"alice", "bob"}},
		{"all", "all", []string{Everybody}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := AuditUsers(tt.list); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
