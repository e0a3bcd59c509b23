package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

// prepare makes everything that the demo works on.
func (d *demo) prepare(ctx context.Context) error {
	bin := filepath.Join(d.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	if err := os.Symlink(d.Executable, filepath.Join(bin, "mosaic")); err != nil {
		return err
	}
	if err := d.mosaic(ctx, nil, "init", "--business", Business, "--human", "You", "--yes"); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(d.root(), "organization.yaml"), []byte(d.organization()), 0o600); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(d.dir, "team"), 0o700); err != nil {
		return err
	}
	for _, role := range roles {
		script, err := fs.ReadFile(d.Team, role+".sh")
		if err != nil {
			return err
		}
		if err := os.WriteFile(d.script(role), script, 0o700); err != nil {
			return err
		}
	}
	if err := d.makeProject(ctx); err != nil {
		return err
	}
	var err error
	d.before, err = d.main(ctx)
	return err
}

func (d *demo) script(role string) string { return filepath.Join(d.dir, "team", role+".sh") }

// main is the commit that the protected branch points at.
func (d *demo) main(ctx context.Context) (string, error) {
	return d.git(ctx, "-C", d.repository(), "rev-parse", "refs/heads/main")
}

// organization is the demo's organization file: two roles that you can launch.
func (d *demo) organization() string {
	return `version: 1
human: {id: you, name: You}
plugins: {harness: [exec]}
businesses:
  ` + Business + `:
    human: you
    projects:
      web: {repo: ` + strconv.Quote(d.repository()) + `}
    roles:
      chief: {definition: chief-of-staff}
      dev: {definition: developer}
      rev: {definition: reviewer}
    launch: {by: chief, instances: [dev, rev], limits: {sessions: 2}, sandbox: ` + d.Sandbox + `}
`
}

// assign sends the assignment as the person. It waits for dev to claim its role.
func (d *demo) assign(ctx context.Context) error {
	return d.mosaic(ctx, nil, "send", "dev", "The test of package mean fails on main. Please fix it and have it merged ("+Task+").", "--class", "ASSIGNMENT")
}

// launch starts the runs.
func (d *demo) launch(ctx context.Context) error {
	for _, role := range roles {
		var started struct {
			Run string `json:"run"`
			Log string `json:"log"`
		}
		if err := d.mosaic(ctx, &started, "launch", role, "--dir", d.clone(role), "--", d.script(role)); err != nil {
			return err
		}
		d.runs[role] = run{started.Run, started.Log}
	}
	return nil
}

// patience is how long the runs may take, without the time that the person takes.
const patience = 3 * time.Minute

// watch passes on what the runs print, lets the person answer what they raise,
// and ends when dev's run has.
func (d *demo) watch(ctx context.Context) error {
	logs := newLogs(d.runs, func(role, line string) {
		d.Tell(fmt.Sprintf("  %-3s | %s", role, strings.ReplaceAll(line, "\t", "  ")))
		d.notice(line)
	})
	deadline := time.Now().Add(patience)
	asked := map[wire.DecisionID]bool{}
	for {
		logs.follow()
		box, err := d.inbox(ctx)
		if err != nil {
			return err
		}
		for _, id := range box {
			if asked[id] {
				continue
			}
			asked[id] = true
			before := time.Now()
			if err := d.answer(ctx, id); err != nil {
				return err
			}
			deadline = deadline.Add(time.Since(before))
		}
		ended, err := d.ended(ctx, "dev")
		if ended {
			logs.follow() // what it printed last
		}
		if ended || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return errors.New("the team did not finish in " + patience.String())
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// notice keeps from dev's output which code refused another commit with the
// same approval.
func (d *demo) notice(line string) {
	if rest, ok := strings.CutPrefix(line, "mosaic: "); ok && d.report.Decision != "" {
		code, _, _ := strings.Cut(rest, ":")
		d.report.Reuse = wire.Code(code)
	}
}

// inbox returns the open decisions that wait for the person.
func (d *demo) inbox(ctx context.Context) ([]wire.DecisionID, error) {
	var box struct {
		Decisions []struct {
			ID wire.DecisionID `json:"id"`
		} `json:"decisions"`
	}
	err := d.mosaic(ctx, &box, "inbox")
	var ids []wire.DecisionID
	for _, one := range box.Decisions {
		ids = append(ids, one.ID)
	}
	return ids, err
}

// answer lets the person answer, with `mosaic decide` as they would type it,
// and looks at what the answer was.
func (d *demo) answer(ctx context.Context, id wire.DecisionID) error {
	d.report.Decision = id
	if err := d.decide(ctx, id); err != nil {
		return err
	}
	// Exit code 0 means that the answer approves; anything else that it does not.
	d.report.Approved = d.mosaic(ctx, nil, "wait", string(id), "--timeout", "0s") == nil
	return nil
}

func (d *demo) decide(ctx context.Context, id wire.DecisionID) error {
	if d.Yes {
		shown, err := d.printed(ctx, "inbox")
		if err != nil {
			return err
		}
		d.Show(shown)
		d.Tell("answering yes, because of --yes: mosaic decide " + string(id) + " yes")
		said, err := d.printed(ctx, "decide", string(id), "yes")
		d.Show(said)
		return err
	}
	for {
		cmd := d.command(ctx, "decide", string(id))
		cmd.Stdin, cmd.Stdout, cmd.Stderr = d.Stdin, d.Stdout, d.Stderr
		err := cmd.Run()
		if err == nil || cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 2 {
			return err
		}
		// A mistyped option was refused, and the command has said so.
	}
}

// ended reports whether a role's run has ended, and fails when it failed.
func (d *demo) ended(ctx context.Context, role string) (bool, error) {
	var info struct {
		State  string `json:"state"`
		Reason string `json:"reason"`
	}
	if err := d.mosaic(ctx, &info, "runs", d.runs[role].id); err != nil {
		return false, err
	}
	if info.State != "ended" {
		return false, nil
	}
	if info.Reason != "exited" {
		return true, fmt.Errorf("%s: %w (%s)", role, errEnded, info.Reason)
	}
	return true, nil
}

// inspect compares main with what it was and with what dev pushed.
func (d *demo) inspect(ctx context.Context) error {
	after, err := d.main(ctx)
	if err != nil {
		return err
	}
	d.report.Landed = after != d.before
	if !d.report.Landed {
		d.Tell("  main still points at " + after[:12])
		return nil
	}
	d.Tell("  main moved from " + d.before[:12] + " to " + after[:12])
	if d.report.Reuse != "" {
		d.Tell("  another commit with the same approval was refused: " + string(d.report.Reuse))
	}
	return nil
}

// trail shows the story of the task, and follows its link to the review.
func (d *demo) trail(ctx context.Context) error {
	story, err := d.printed(ctx, "trail", Task)
	if err != nil {
		return err
	}
	d.Show(story)
	var records []struct {
		Table string `json:"table"`
		Row   struct {
			Class     string `json:"class"`
			InReplyTo string `json:"in_reply_to"`
		} `json:"row"`
	}
	if err := d.mosaic(ctx, &records, "trail", Task); err != nil {
		return err
	}
	for _, r := range records {
		if r.Table == "messages" && r.Row.Class == "INFO" && r.Row.InReplyTo != "" {
			d.Tell("following the link to the review: mosaic trail " + r.Row.InReplyTo)
			review, err := d.printed(ctx, "trail", r.Row.InReplyTo)
			d.Show("\n" + review)
			return err
		}
	}
	return nil
}

// verify checks the chain of evidence, after the host has stopped.
func (d *demo) verify(ctx context.Context) error {
	said, err := d.printed(ctx, "bus", "verify")
	d.Show(said)
	d.report.Verified = err == nil
	return err
}
