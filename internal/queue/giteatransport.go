package queue

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"mosaicstack.dev/mosaic/internal/gitea"
)

// CredentialVariable names the token file of whoever runs the command
// (QUEUE-REVIEW-01).
const CredentialVariable = "MOSAIC_GITEA_CREDENTIAL_FILE"

// Gitea carries review requests as comments of issues.
type Gitea struct {
	Settings   ReviewSettings
	Credential string        // value of CredentialVariable, "" when unset
	Deadline   time.Duration // of each request; 0 is gitea.Deadline
}

// refused are the statuses by which Gitea says that it did not take a comment
// (QUEUE-REVIEW-62). After any other one nobody knows.
var refused = []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity}

// Ready checks the credential file's path and state without reading it, and
// asks the server whose token it is (QUEUE-REVIEW-53 to 56).
func (g *Gitea) Ready(ctx context.Context, as Poster) error {
	client, err := g.client(as)
	if err != nil {
		return err
	}
	login, err := client.Login(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("the server did not say whose token it is (%s)", giteaWords(err))
	case login != as.Login:
		return fmt.Errorf("the token is another login's than %s", as.Login)
	}
	return nil
}

// Post makes one POST.
func (g *Gitea) Post(ctx context.Context, as Poster, issue int, body string) Delivery {
	client, err := g.client(as)
	if err != nil {
		return Delivery{State: Failed, Why: err.Error()} // nothing was sent
	}
	made, err := client.Post(ctx, issue, body)
	d := Delivery{State: Uncertain, Status: made.Status}
	switch {
	case made.Status == http.StatusCreated && made.ID != 0:
		d.State, d.Comment = Posted, made.ID
	case slices.Contains(refused, made.Status):
		d.State, d.Why = Failed, fmt.Sprintf("HTTP %d", made.Status)
	case errors.Is(err, gitea.ErrDeadline):
		d.Why = "no answer in time"
	case made.Status == 0:
		d.Why = "the request got no answer"
	case made.Status >= 200 && made.Status < 300:
		d.Why = fmt.Sprintf("HTTP %d without a comment id", made.Status)
	default:
		d.Why = fmt.Sprintf("HTTP %d", made.Status)
	}
	return d
}

// Find makes one GET.
func (g *Gitea) Find(ctx context.Context, as Poster, comment int64) (Comment, error) {
	client, err := g.client(as)
	if err != nil {
		return Comment{}, err
	}
	found, err := client.Comment(ctx, comment)
	if err != nil {
		return Comment{}, errors.New(giteaWords(err))
	}
	return Comment{Issue: found.Issue, Body: found.Body}, nil
}

// Where is the issue's page.
func (g *Gitea) Where(issue int) string {
	if g.Settings.Repository.Server == "" {
		return ""
	}
	return g.Settings.Repository.IssueURL(issue)
}

// client checks the credential file and hands its path to the client, which
// alone opens it (QUEUE-REVIEW-05).
func (g *Gitea) client(as Poster) (*gitea.Client, error) {
	if err := g.checkCredential(as); err != nil {
		return nil, err
	}
	client, err := gitea.New(g.Settings.Repository, gitea.Options{Credential: g.Credential, Deadline: g.Deadline})
	if err != nil {
		return nil, errors.New(giteaWords(err))
	}
	return client, nil
}

// checkCredential refuses a file that is not the poster's own (QUEUE-REVIEW-01
// to 09). The words name variables and settings, never a path.
func (g *Gitea) checkCredential(as Poster) error {
	path := g.Credential
	switch {
	case path == "":
		return errors.New(CredentialVariable + " is not set")
	case !filepath.IsAbs(path):
		return errors.New(CredentialVariable + " is not an absolute path")
	}
	info, err := os.Lstat(path)
	if err != nil {
		return errors.New(CredentialVariable + " names a file that is not there")
	}
	if def, err := os.Stat(g.Settings.DefaultCredential); filepath.Clean(path) == g.Settings.DefaultCredential || err == nil && os.SameFile(info, def) {
		return errors.New(CredentialVariable + " names the default credential file, which is nobody's own")
	}
	if filepath.Clean(path) != g.Settings.credentialFor(as.Identity) {
		return fmt.Errorf("%s names another path than mosaic.queue.credentialTemplate does for %s", CredentialVariable, as.Identity)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return errors.New("the credential file is not a regular file")
	case !ok || int(owner.Uid) != os.Geteuid():
		return errors.New("the credential file belongs to another user")
	case info.Mode().Perm() != 0o600:
		return fmt.Errorf("the credential file has mode %04o and must have 0600", info.Mode().Perm())
	}
	return nil
}

// giteaWords says for people why a call gave no answer.
func giteaWords(err error) string {
	var status gitea.StatusError
	switch {
	case errors.As(err, &status):
		return fmt.Sprintf("HTTP %d", int(status))
	case errors.Is(err, gitea.ErrDeadline):
		return "no answer in time"
	case errors.Is(err, gitea.ErrCredential):
		return "the credential file holds no usable token"
	case errors.Is(err, gitea.ErrServer):
		return "the configured server or repository cannot be used"
	case errors.Is(err, gitea.ErrAnswer):
		return "an answer of unexpected form"
	case errors.Is(err, context.Canceled):
		return "interrupted"
	}
	return "no answer"
}
