package datadir

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteTokens(t *testing.T) {
	folder := open(t)
	extra := tokensFile(t, `secret,alice,1,"dev,ops"`)
	admin, err := folder.WriteTokens(extra)
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(string(read(t, folder, TokensFile)))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	users := map[string]string{}
	for _, record := range records {
		users[record[1]] = record[0] + " " + record[3]
	}
	want := map[string]string{
		"admin":       admin + " system:masters",
		"operator0a":  "operatortoken0a system:masters",
		"operator23b": "operatortoken23b system:masters",
		"alice":       "secret dev,ops",
	}
	for user, value := range want {
		if users[user] != value {
			t.Errorf("%s: got %q, want %q", user, users[user], value)
		}
	}
	if got, want := len(records), 1+48+1; got != want {
		t.Errorf("got %d tokens, want %d", got, want)
	}

	again, err := folder.WriteTokens("")
	if err != nil {
		t.Fatal(err)
	}
	if again != admin {
		t.Error("the administrator's token changed")
	}
}

func TestWriteTokensRefusesBadFile(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"two columns", "token,user\n", "record 1"},
		{"no token", "a,b,c\n,user,1\n", "record 2"},
		{"no user", "token,,1\n", "record 1"},
		{"open quote", "token,user,1,\"groups\n", "tokens file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := tokensFile(t, tt.text)
			_, err := open(t).WriteTokens(path)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want an error with %q and the path", err, tt.want)
			}
		})
	}
	if _, err := open(t).WriteTokens("/nonexistent/tokens"); err == nil {
		t.Error("missing file: got no error")
	}
}

func tokensFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
