package queue

import (
	"context"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"mosaicstack.dev/mosaic/internal/gitea"
)

// Where a seat's token file is looked for, and which file is nobody's own,
// where nothing else is configured. {seat} stands for the acting identity, and
// ~/ for the person's home directory.
const (
	DefaultCredentialTemplate = "~/.secrets/{seat}.gitea"
	DefaultCredentialFile     = "~/.secrets/gitea"
)

// seatPlace stands in a credential template for the acting identity.
const seatPlace = "{seat}"

// ReviewSettings say where review requests go and who posts under which login.
// They come from the repository's own git configuration (QUEUE-OPEN-02):
//
//	mosaic.queue.giteaUrl            http(s)://HOST[/PREFIX]; default: from the remote of the genesis branch
//	mosaic.queue.giteaRepository     OWNER/NAME; default likewise
//	mosaic.queue.login               NAME=LOGIN, one for each name that posts under another login
//	mosaic.queue.credentialTemplate  path of a token file, with {seat} in it
//	mosaic.queue.defaultCredential   path of a token file that no request may use
type ReviewSettings struct {
	Repository         gitea.Repository
	Logins             map[Seat]string
	CredentialTemplate string // absolute, with {seat}
	DefaultCredential  string // absolute
}

// ReviewSettings reads the settings. home is the person's home directory, ""
// when there is none.
func (c *Checkout) ReviewSettings(ctx context.Context, home string) (ReviewSettings, error) {
	s := ReviewSettings{Logins: map[Seat]string{}}
	for _, pair := range c.Setting("login") {
		name, login, ok := strings.Cut(pair, "=")
		if !ok || !isName(Seat(name)) || !isName(Seat(login)) {
			return s, refuse(SettingsInvalid, "mosaic.queue.login is %q; it must be NAME=LOGIN", clip(pair))
		}
		s.Logins[Seat(name)] = login
	}
	var err error
	if s.CredentialTemplate, err = credentialPath("credentialTemplate", c.setting("credentialTemplate", DefaultCredentialTemplate), home); err != nil {
		return s, err
	}
	if !strings.Contains(s.CredentialTemplate, seatPlace) {
		return s, refuse(SettingsInvalid, "mosaic.queue.credentialTemplate has no %s in it", seatPlace)
	}
	if s.DefaultCredential, err = credentialPath("defaultCredential", c.setting("defaultCredential", DefaultCredentialFile), home); err != nil {
		return s, err
	}
	s.Repository, err = c.giteaRepository(ctx)
	return s, err
}

func credentialPath(key, value, home string) (string, error) {
	if rest, ok := strings.CutPrefix(value, "~/"); ok && home != "" {
		value = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(value) {
		return "", refuse(SettingsInvalid, "mosaic.queue.%s is %q; it must be an absolute path or begin with ~/", key, clip(value))
	}
	return filepath.Clean(value), nil
}

// giteaRepository is the configured repository, completed by the remote of the
// branch (QUEUE-OPEN-84).
func (c *Checkout) giteaRepository(ctx context.Context) (gitea.Repository, error) {
	server, name := c.setting("giteaUrl", ""), c.setting("giteaRepository", "")
	found := gitea.Repository{Server: server}
	if server == "" || name == "" {
		remote, err := c.remoteURL(ctx)
		if err != nil {
			return found, err
		}
		guess, ok := fromRemote(remote)
		if !ok {
			return found, refuse(SettingsInvalid, "no Gitea repository is known: set mosaic.queue.giteaUrl and mosaic.queue.giteaRepository in the git configuration")
		}
		if server == "" {
			found.Server = guess.Server
		}
		if name == "" {
			name = guess.Owner + "/" + guess.Name
		}
	}
	if err := found.Parse(name); err != nil {
		return found, refuse(SettingsInvalid, "mosaic.queue.giteaRepository is %q; it must be OWNER/NAME", clip(name))
	}
	if u, err := url.Parse(found.Server); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return found, refuse(SettingsInvalid, "mosaic.queue.giteaUrl must be http(s)://HOST without a user name")
	}
	return found, nil
}

// remoteURL is the address of the remote that the branch follows, else of
// origin, else "".
func (c *Checkout) remoteURL(ctx context.Context) (string, error) {
	look, err := openCandidates(ctx, c.Root)
	if err != nil {
		return "", err
	}
	address, err := look.repo.RemoteURL(ctx, c.Branch)
	if err != nil {
		return "", gitFailure(err)
	}
	return address, nil
}

// fromRemote reads server, owner and name from a remote's address:
// http(s)://[USER@]HOST[/PREFIX]/OWNER/NAME[.git], ssh://[USER@]HOST/OWNER/NAME
// or [USER@]HOST:OWNER/NAME. Over ssh the server is taken to answer https on
// its usual port.
func fromRemote(address string) (gitea.Repository, bool) {
	if !strings.Contains(address, "://") {
		host, path, ok := strings.Cut(address, ":")
		if !ok || strings.Contains(host, "/") {
			return gitea.Repository{}, false
		}
		address = "ssh://" + host + "/" + strings.TrimPrefix(path, "/")
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || !slices.Contains([]string{"http", "https", "ssh"}, u.Scheme) {
		return gitea.Repository{}, false
	}
	segments := strings.Split(strings.Trim(strings.TrimSuffix(strings.TrimRight(u.Path, "/"), ".git"), "/"), "/")
	if len(segments) < 2 {
		return gitea.Repository{}, false
	}
	n := len(segments)
	found := gitea.Repository{Server: u.Scheme + "://" + u.Host}
	if u.Scheme == "ssh" {
		found.Server = "https://" + u.Hostname()
	} else if n > 2 {
		found.Server += "/" + strings.Join(segments[:n-2], "/")
	}
	return found, found.Parse(segments[n-2]+"/"+segments[n-1]) == nil
}

// Poster is who posts for an actor: a seat under its own name; the human, the
// lead and a label under the login configured for them, else their own name
// (QUEUE-REVIEW-09 to 11, QUEUE-OPEN-03).
func (s ReviewSettings) Poster(state *Replayed, actor Seat) Poster {
	p := Poster{Actor: actor, Identity: string(actor), Login: string(actor)}
	if login, ok := s.Logins[actor]; ok {
		p.Login = login
		if state.Privileged(actor) || !slices.Contains(state.Seats, actor) {
			p.Identity = login
		}
	}
	return p
}

// credentialFor is the path that an identity's token file must have.
func (s ReviewSettings) credentialFor(identity string) string {
	return filepath.Clean(strings.ReplaceAll(s.CredentialTemplate, seatPlace, identity))
}
