package queue

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mosaicstack.dev/mosaic/internal/corpus"
	"mosaicstack.dev/mosaic/internal/git"
	"mosaicstack.dev/mosaic/internal/git/gittest"
)

// desk is a repository with briefs, in either object format.
type desk struct {
	*gittest.Repository
	t    *testing.T
	head *git.Repository
}

func newDesk(t *testing.T, format string) *desk {
	t.Helper()
	d := &desk{Repository: gittest.New(t, format), t: t}
	d.file("docs/a.md", "# Plan\n\n## What ships\nthis\n\n## Twice\n## Twice\n")
	d.commit()
	head, err := git.Open(context.Background(), d.Dir)
	if err != nil {
		t.Fatal(err)
	}
	d.head = head
	return d
}

func (d *desk) file(path, text string) {
	d.t.Helper()
	path = filepath.Join(d.Dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) commit() {
	d.t.Helper()
	d.Git("add", "--all")
	d.Git("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "--quiet", "--message=x")
}

func (d *desk) pin(brief string) (string, error) {
	d.t.Helper()
	ref, err := ParseBrief(brief)
	if err != nil {
		return "", err
	}
	return PinBrief(context.Background(), d.head, d.head.Dir(), ref)
}

func (d *desk) refused(brief, want string) {
	d.t.Helper()
	blob, err := d.pin(brief)
	if code(err) != want || blob != "" {
		d.t.Errorf("%s: %q, %v; want %s", brief, blob, err, want)
	}
}

// proves: QUEUE-BRIEF-01 QUEUE-BRIEF-02 QUEUE-BRIEF-03 QUEUE-BRIEF-04 QUEUE-BRIEF-05 QUEUE-BRIEF-06 QUEUE-BRIEF-07 QUEUE-BRIEF-08
// proves: QUEUE-BRIEF-09 QUEUE-TESTS-12
func TestABriefIsCommittedText(t *testing.T) {
	t.Parallel()
	for _, format := range gittest.Formats {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, format)
			want := d.Git("rev-parse", "HEAD:docs/a.md")
			for _, good := range []string{"docs/a.md", "./docs/../docs/a.md", "docs/a.md#What ships", "docs/a.md# Plan "} {
				if blob, err := d.pin(good); err != nil || blob != want {
					t.Errorf("%s: %q, %v; want %s", good, blob, err, want)
				}
			}
			d.refused("docs/a.md#Nothing", BriefInvalid)
			d.refused("docs/a.md#Twice", BriefInvalid)
			d.refused("docs/a.md#what ships", BriefInvalid)
			d.refused("docs/a.md#", ArgumentInvalid)
			d.refused("docs/none.md", BriefInvalid)
			d.refused("docs/a.md/b.md", BriefInvalid)
			d.refused("docs", BriefInvalid)
			d.refused(d.Dir+"/docs/a.md", ArgumentInvalid)
			d.refused("../work/docs/a.md", ArgumentInvalid)
			d.refused(".git/config", ArgumentInvalid)

			d.file("docs/staged.md", "x")
			d.refused("docs/staged.md", BriefInvalid)
			d.Git("add", "docs/staged.md")
			d.refused("docs/staged.md", BriefInvalid)

			for link, to := range map[string]string{"docs/link.md": "a.md", "docs/out.md": "/etc/hostname", "far": t.TempDir(), "near": "docs"} {
				if err := os.Symlink(to, filepath.Join(d.Dir, link)); err != nil {
					t.Fatal(err)
				}
			}
			d.commit()
			d.refused("docs/link.md", BriefInvalid)
			d.refused("docs/out.md", BriefInvalid)
			d.refused("far/x.md", BriefInvalid)
			d.refused("near/a.md", BriefInvalid) // HEAD has no such path
			if err := syscall.Mkfifo(filepath.Join(d.Dir, "docs/pipe.md"), 0o600); err != nil {
				t.Fatal(err)
			}
			d.refused("docs/pipe.md", BriefInvalid)

			// HEAD's version is pinned, not the working one.
			d.file("docs/a.md", "# Another\n")
			if blob, err := d.pin("docs/a.md#Plan"); err != nil || blob != want {
				t.Errorf("%q, %v; want %s", blob, err, want)
			}
			d.refused("docs/a.md#Another", BriefInvalid)
			if err := os.Remove(filepath.Join(d.Dir, "docs/a.md")); err != nil {
				t.Fatal(err)
			}
			d.refused("docs/a.md", BriefInvalid)
		})
	}
}

// proves: QUEUE-BRIEF-12 QUEUE-BRIEF-13 QUEUE-BRIEF-14 QUEUE-BRIEF-15 QUEUE-BRIEF-16 QUEUE-BRIEF-10 QUEUE-BRIEF-11 QUEUE-TESTS-17
func TestTheWorkingBrief(t *testing.T) {
	t.Parallel()
	for _, format := range gittest.Formats {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, format)
			s := begin(t)
			pinned, err := d.pin("docs/a.md")
			if err != nil {
				t.Fatal(err)
			}
			s.do(dev, &AddArgs{Piece: "x", Brief: BriefRef{Path: "docs/a.md"}}, Facts{Blob: pinned})
			s.move(chief, 1, Briefed)
			start := func(want string) {
				t.Helper()
				objects := d.Git("count-objects", "-v")
				working, err := WorkingBlob(d.head.Dir(), s.row(1).Brief)
				if err != nil {
					t.Fatal(err)
				}
				if again := d.Git("count-objects", "-v"); again != objects {
					t.Errorf("git has other objects: %s", again)
				}
				a := &MoveArgs{Row: 1, To: InProgress}
				if want != "" {
					s.refused(want, dev, a, Facts{Blob: working})
					return
				}
				s.do(dev, a, Facts{Blob: working})
				s.move(dev, 1, Briefed)
			}
			drift := func(want string) {
				t.Helper()
				found, err := BriefDrift(context.Background(), d.head, s.state)
				if err != nil || (want == "") != (len(found) == 0) || want != "" && !strings.Contains(found[0].Reason, want) {
					t.Errorf("drift is %+v, %v; want %q", found, err, want)
				}
			}
			start("")
			drift("")
			d.file("docs/a.md", "edited\n")
			start(BriefDiffers)
			drift("")
			if again, err := d.pin("docs/a.md"); err != nil || again != pinned {
				t.Errorf("an uncommitted version is pinned: %q, %v", again, err)
			}
			d.commit()
			start(BriefDiffers)
			drift("another version")
			if _, err := Parse(s.file.Bytes()); err != nil {
				t.Errorf("the queue file depends on the brief: %v", err)
			}
			fresh, err := d.pin("docs/a.md")
			if err != nil {
				t.Fatal(err)
			}
			s.refused(NotPermitted, dev, &SetArgs{Row: 1, Brief: &BriefRef{Path: "docs/a.md"}}, Facts{Blob: fresh})
			s.do(chief, &SetArgs{Row: 1, Brief: &BriefRef{Path: "docs/a.md"}}, Facts{Blob: fresh})
			start("")
			drift("")
			d.Git("rm", "--quiet", "docs/a.md")
			d.commit()
			start(BriefDiffers)
			drift("not in HEAD")
			s.move(dana, 1, Parked)
			drift("") // of terminal rows nothing is asked
		})
	}
}

// A repository without a commit has no brief.
func TestABriefBeforeTheFirstCommit(t *testing.T) {
	t.Parallel()
	d := &desk{Repository: gittest.New(t, "sha1"), t: t}
	d.file("a.md", "x")
	head, err := git.Open(context.Background(), d.Dir)
	if err != nil {
		t.Fatal(err)
	}
	d.head = head
	d.refused("a.md", BriefInvalid)
	s := begin(t)
	s.add(dev)
	if found, err := BriefDrift(context.Background(), head, s.state); err != nil || len(found) != 1 {
		t.Errorf("drift is %+v, %v", found, err)
	}
	if blob, err := HeadBlob(context.Background(), head, "a.md"); err != nil || blob != "" {
		t.Errorf("HEAD has %q, %v", blob, err)
	}
}

// proves: QUEUE-BRIEF-08
func TestHeadings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want int
	}{
		{"# Gate\n", 1}, {"###### Gate", 1}, {"## Gate ##\n", 1}, {"#\tGate  \r\n", 1}, {"   # Gate\n", 1}, {"# Gate\n## Gate\n", 2},
		{"####### Gate\n", 0}, {"#Gate\n", 0}, {"    # Gate\n", 0}, {"# gate\n", 0}, {"# Gates\n", 0}, {"Gate\n====\n", 0}, {"## Gate#\n", 0}, {"#\n", 0},
		{"```\n# Gate\n```\n# Gate\n", 1}, {"~~~~ md\n# Gate\n~~~\n# Gate\n~~~~~ \n", 0}, {"```\n# Gate\n~~~\n", 0}, {"``` a`b\n# Gate\n", 1},
		{"   ```\n# Gate\n   ```\n", 0}, {"    ```\n# Gate\n", 1}, {"", 0},
	} {
		if got := countHeadings([]byte(c.text), "Gate"); got != c.want {
			t.Errorf("%q has the heading %d times, want %d", c.text, got, c.want)
		}
	}
}

// No path of the corpus that leads out of the repository is a brief, and none
// makes a line of its own.
//
// proves: QUEUE-BRIEF-02
func TestHostilePaths(t *testing.T) {
	t.Parallel()
	for _, c := range corpus.Paths(t) {
		ref := BriefRef{Path: c.Text}
		err := ref.normalize()
		switch {
		case err != nil && code(err) != ArgumentInvalid:
			t.Errorf("%s: %v", c.Name, err)
		case err == nil && c.Verdict == corpus.Outside:
			t.Errorf("%s: %q leads out of the repository and is accepted", c.Name, c.Text)
		case err == nil && strings.ContainsAny(ref.Path, "\n\r\x00\x1b"):
			t.Errorf("%s: %q holds control characters", c.Name, ref.Path)
		}
	}
}
