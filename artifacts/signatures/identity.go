package signatures

import (
	"net/url"
	"strings"
)

// issued holds the identity in a certificate.
type issued struct {
	issuer     string // URL of the identity provider
	subject    string // email address, or URL of a workflow
	repository string // URL of the repository that the workflow ran for; may be empty
}

// githubIssuer is the identity provider of GitHub Actions.
const githubIssuer = "https://token.actions.githubusercontent.com"

// identity is the identity of the signer. All workflows of a GitHub repository, at all
// branches and tags, are one signer, because write access to one of them gives access to
// all.
func (i *issued) identity() string {
	if owner, repo := gitHub(i.repository); i.issuer == githubIssuer && owner != "" {
		return "GitHub action of " + strings.ToLower(owner+"/"+repo)
	}
	return "certificate of " + i.subject + " by " + i.issuer
}

// byGitHub reports whether a workflow of the repository has signed for the repository
// itself. Other repositories can call a reusable workflow, which then signs their content.
func (i *issued) byGitHub(owner, repo string) bool {
	same := func(text string) bool {
		o, r := gitHub(text)
		return strings.EqualFold(o, owner) && (repo == "" || strings.EqualFold(r, repo))
	}
	return i.issuer == githubIssuer && same(i.subject) && same(i.repository)
}

// to reports whether the issuer has issued the certificate for the subject.
func (i *issued) to(issuer string, subject *Subject) bool {
	if i.issuer != issuer {
		return false
	}
	if subject.Equal != "" {
		return i.subject == subject.Equal
	}
	return subject.URLPrefix != "" && strings.HasPrefix(i.subject, subject.URLPrefix)
}

// gitHub returns the owner and the repository of a URL below github.com. They are empty for
// other URLs.
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
