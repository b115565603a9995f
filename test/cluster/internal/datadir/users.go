package datadir

import (
	"crypto/rand"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Names of the token files in the folder.
const (
	TokensFile     = "tokens.csv"
	adminTokenFile = "admin.token"
)

// operatorPairs is how many pairs of operators may run at once, each with
// its own identity in the audit log.
const operatorPairs = 24

// Operators returns the users operator0a, operator0b … operator23a,
// operator23b. All are cluster administrators. The token of operator0a is
// operatortoken0a, and so on: known to everybody on this machine, as suits a
// throw-away cluster.
func Operators() []string {
	users := make([]string, 0, 2*operatorPairs)
	for n := range operatorPairs {
		users = append(users, fmt.Sprintf("operator%da", n), fmt.Sprintf("operator%db", n))
	}
	return users
}

// WriteTokens writes the token file of the API server: the administrator, the
// operators, and the lines of the file extra unless it is "". It returns the
// token of the administrator, which is random, and stays with the folder.
func (f *Folder) WriteTokens(extra string) (admin string, err error) {
	admin, err = f.adminToken()
	if err != nil {
		return "", fmt.Errorf("administrator's token: %w", err)
	}
	var text strings.Builder
	line := func(token, user, uid string) {
		fmt.Fprintf(&text, "%s,%s,%s,\"system:masters\"\n", token, user, uid)
	}
	line(admin, "admin", "admin")
	for _, user := range Operators() {
		slot := strings.TrimPrefix(user, "operator")
		line("operatortoken"+slot, user, "op"+slot)
	}
	if extra != "" {
		lines, err := readTokens(extra)
		if err != nil {
			return "", err
		}
		text.WriteString(lines)
	}
	return admin, f.write(TokensFile, []byte(text.String()))
}

func (f *Folder) adminToken() (string, error) {
	text, err := os.ReadFile(f.Path(adminTokenFile))
	if err == nil {
		return string(text), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	token := rand.Text()
	return token, f.write(adminTokenFile, []byte(token))
}

// readTokens checks the file here, because the API server would only skip
// what it does not understand, or end with a message deep in its log.
func readTokens(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("tokens file: %w", err)
	}
	reader := csv.NewReader(strings.NewReader(string(text)))
	reader.FieldsPerRecord = -1
	records, err := reader.ReadAll()
	if err != nil {
		return "", fmt.Errorf("tokens file %s: %w", path, err)
	}
	for i, record := range records {
		if len(record) < 3 || record[0] == "" || record[1] == "" {
			return "", fmt.Errorf(`tokens file %s: record %d: want token,user,uid[,"group1,group2"], got %q`, path, i+1, record)
		}
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	return string(text), nil
}
