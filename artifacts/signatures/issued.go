package signatures

import (
	"net/url"
	"strings"
)

// issued is what a certificate says about whoever has signed.
type issued struct {
	issuer     string // who knows the subject: the URL of an identity provider
	subject    string // an address of mail, or the URL of a workflow
	repository string // the URL of the sources that the workflow ran for; may be empty
}

// githubIssuer is who knows the workflows of GitHub.
const githubIssuer = "https://token.actions.githubusercontent.com"

// identity is who has signed. All workflows of a repository of GitHub, at all its
// branches and tags, are one signer: who can change one of them can change them all.
func (i *issued) identity() string {
	if owner, repo := gitHub(i.repository); i.issuer == githubIssuer && owner != "" {
		return "GitHub action of " + strings.ToLower(owner+"/"+repo)
	}
	return "certificate of " + i.subject + " by " + i.issuer
}

// byGitHub tells whether a workflow of the repository has signed, for the repository
// itself: others can call a workflow that can be reused, and it signs what they want.
func (i *issued) byGitHub(owner, repo string) bool {
	same := func(text string) bool {
		o, r := gitHub(text)
		return strings.EqualFold(o, owner) && (repo == "" || strings.EqualFold(r, repo))
	}
	return i.issuer == githubIssuer && same(i.subject) && same(i.repository)
}

// to tells whether the certificate is of the issuer for the subject.
func (i *issued) to(issuer string, subject *Subject) bool {
	if i.issuer != issuer {
		return false
	}
	if subject.Equal != "" {
		return i.subject == subject.Equal
	}
	return strings.HasPrefix(i.subject, subject.URLPrefix)
}

// gitHub takes the owner and the repository out of a URL below github.com; empty if it
// is none.
func gitHub(text string) (owner, repo string) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host != "github.com" {
		return "", ""
	}
	parts := strings.SplitN(strings.TrimPrefix(u.Path, "/"), "/", 3)
	if len(parts) < 2 || parts[0] == "" || parts[1] == "" {
		return "", ""
	}
	return parts[0], parts[1]
}
