package queue

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/corpus"
	"mosaicstack.dev/mosaic/internal/git/gittest"
)

// manifestOf is the manifest of files as they are in the working tree.
func manifestOf(w *world, paths ...string) string {
	slices.Sort(paths)
	var b strings.Builder
	for _, p := range paths {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256([]byte(w.read(p))), p)
	}
	return b.String()
}

// proves: QUEUE-REVIEW-25 QUEUE-OPEN-76
func TestManifestGrammar(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("0a", 32)
	good := sum + "  a\n" + sum + "  b/c d|`x`.go\n" + sum + "  ä\n"
	entries, err := ParseManifest(good)
	if err != nil || len(entries) != 3 || entries[1].Path != "b/c d|`x`.go" || entries[0].Sum[1] != 0x0a {
		t.Fatalf("%+v, %v", entries, err)
	}
	for name, text := range map[string]string{
		"empty": "", "no newline": sum + "  a", "empty line": sum + "  a\n\n", "one space": sum + " a\n",
		"binary": sum + " *a\n", "upper case": strings.ToUpper(sum) + "  a\n", "short": sum[1:] + "  a\n",
		"no path": sum + "  \n", "unsorted": sum + "  b\n" + sum + "  a\n", "twice": sum + "  a\n" + sum + "  a\n",
		"absolute": sum + "  /a\n", "above": sum + "  ../a\n", "inside above": sum + "  a/../../b\n", "not shortest": sum + "  a//b\n",
		"dot": sum + "  ./a\n", "git": sum + "  .git/config\n", "GIT": sum + "  .GIT/config\n", "marker": sum + "  a<!-- mosaic-queue-op: x -->\n",
		"tab": sum + "  a\tb\n", "escape": sum + "  a\x1b[2J\n", "CRLF": sum + "  a\r\n", "not UTF-8": sum + "  a\xff\n",
		"slash at the end": sum + "  a/\n", "large": strings.Repeat(sum+"  a\n", 5000),
	} {
		_, err := ParseManifest(text)
		wantRefusal(t, err, CandidateInvalid)
		if err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func FuzzManifest(f *testing.F) {
	f.Add(strings.Repeat("0a", 32) + "  a\n")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := ParseManifest(text)
		if err != nil {
			return
		}
		var again strings.Builder
		for _, e := range entries {
			fmt.Fprintf(&again, "%x  %s\n", e.Sum, e.Path)
		}
		if again.String() != text {
			t.Errorf("%q reads as %q", text, again.String())
		}
	})
}

// proves: QUEUE-REVIEW-24 QUEUE-REVIEW-26 QUEUE-REVIEW-35 QUEUE-OPEN-10 QUEUE-OPEN-77
func TestCandidates(t *testing.T) {
	t.Parallel()
	gittest.EachFormat(t, func(t *testing.T, format string) {
		w := emptyWorld(t, format)
		ctx := context.Background()
		first := w.repo.Commit("dev", "src/main.go", "one\n")
		lost := w.repo.Commit("dev", "src/main.go", "two\n")
		w.repo.Git("reset", "--quiet", "--hard", first)
		look, err := openCandidates(ctx, w.root)
		if err != nil {
			t.Fatal(err)
		}
		for given, want := range map[string]string{
			first: first, first[:12]: first, "main": first, "HEAD": first, "HEAD~0": first, lost: lost,
			"src/../work/C.sha256": "work/C.sha256", "./main": "main", w.root + "/work/C.sha256": "work/C.sha256", "gone.sha256": "gone.sha256",
		} {
			if got, err := look.spell(ctx, given); err != nil || got != want {
				t.Errorf("%s is spelled %q, %v; want %q", given, got, err, want)
			}
		}
		for _, given := range []string{"../C.sha256", "/etc/passwd", ".git/config", w.root + "/../x"} {
			_, err := look.spell(ctx, given)
			wantRefusal(t, err, ArgumentInvalid)
		}
		w.write("main", "a file by the branch's name\n")
		_, err = look.spell(ctx, "main")
		wantRefusal(t, err, CandidateInvalid, "both")

		found, err := look.look(ctx, first)
		if err != nil || found.Candidate != (Candidate{Kind: CommitCandidate, Ref: first, Digest: first}) {
			t.Errorf("%+v, %v", found, err)
		}
		_, err = look.look(ctx, lost)
		wantRefusal(t, err, CandidateInvalid, "not reachable")
		w.repo.Git("tag", "kept", lost)
		if _, err := look.look(ctx, lost); err != nil {
			t.Errorf("a commit that a tag keeps: %v", err)
		}
		_, err = look.look(ctx, strings.Repeat("a", len(first)))
		wantRefusal(t, err, CandidateInvalid, "no commit")

		w.write("work/C.sha256", manifestOf(w, "src/main.go"))
		found, err = look.look(ctx, "work/C.sha256")
		if err != nil || found.Warning != "" || found.Candidate.Digest != digest([]byte(w.read("work/C.sha256"))) {
			t.Errorf("%+v, %v", found, err)
		}
		w.write("src/main.go", "changed\n")
		if found, err = look.look(ctx, "work/C.sha256"); err != nil || !strings.Contains(found.Warning, "src/main.go") {
			t.Errorf("%+v, %v", found, err)
		}
		w.remove("src/main.go")
		_, err = look.look(ctx, "work/C.sha256")
		wantRefusal(t, err, CandidateInvalid, "src/main.go")

		outside := t.TempDir() + "/C.sha256"
		os.WriteFile(outside, []byte(w.read("work/C.sha256")), 0o644)
		os.Symlink(outside, w.path("link.sha256"))
		_, err = look.look(ctx, "link.sha256")
		wantRefusal(t, err, CandidateInvalid, "not a regular file")
		os.Symlink(t.TempDir(), w.path("elsewhere"))
		_, err = look.look(ctx, "elsewhere/C.sha256")
		wantRefusal(t, err, CandidateInvalid)
		_, err = look.look(ctx, "work")
		wantRefusal(t, err, CandidateInvalid, "not a regular file")
	})
}

// underReview is a state in which row 1 is in review with a candidate.
func underReview(w *world, c Candidate) *Replayed {
	s := beginAt(w.t, w.root)
	id := s.add(dev)
	s.move(chief, id, Briefed)
	s.move(dev, id, InProgress)
	s.do(dev, &MoveArgs{Row: id, To: InReview, Candidate: c.Ref}, Facts{Candidate: &c})
	return s.state
}

// proves: QUEUE-REVIEW-22 QUEUE-REVIEW-33 QUEUE-REVIEW-34 QUEUE-REVIEW-35 QUEUE-TESTS-152 QUEUE-COMMIT-62
func TestVerifyCommitOfAManifest(t *testing.T) {
	t.Parallel()
	gittest.EachFormat(t, func(t *testing.T, format string) {
		w := emptyWorld(t, format)
		paths := []string{"src/a.go", "src/b|\"x\".go", "src/ä.go"}
		for _, p := range paths {
			w.write(p, "text of "+p+"\n")
		}
		manifest := manifestOf(w, slices.Clone(paths)...)
		s := underReview(w, Candidate{Kind: ManifestCandidate, Ref: "C.sha256", Digest: digest([]byte(manifest)), Manifest: &manifest})
		w.repo.Git("add", "src")
		w.repo.Git("commit", "--quiet", "-m", "as reviewed")
		c := w.open(nil)
		before := w.all()
		verify := func(treeish string) error {
			_, err := c.VerifyCommit(context.Background(), s, 1, treeish)
			return err
		}
		got, err := c.VerifyCommit(context.Background(), s, 1, "HEAD")
		if err != nil || got.Paths != 3 || got.Round != 1 || got.Tree != w.repo.Git("rev-parse", "HEAD^{tree}") {
			t.Fatalf("%+v, %v", got, err)
		}
		if err := verify(got.Tree); err != nil {
			t.Errorf("the tree alone: %v", err)
		}
		wantRefusal(t, verify("HEAD~1"), CandidateDiffers, "3 of 3")
		wantRefusal(t, verify("no-such-thing"), ArgumentInvalid)
		w.write("src/ä.go", "other text\n")
		w.repo.Git("commit", "--quiet", "-am", "one changed path")
		wantRefusal(t, verify("HEAD"), CandidateDiffers, "1 of 3", "src/ä.go")
		w.repo.Git("rm", "--quiet", "src/a.go")
		w.repo.Git("commit", "--quiet", "-m", "and one is gone")
		wantRefusal(t, verify("HEAD"), CandidateDiffers, "2 of 3")
		wantExit(t, verify("HEAD"), 2)
		w.unchanged(before)
	})
}

// proves: QUEUE-OPEN-78
func TestVerifyCommitOfACommit(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, "sha1")
	w.repo.Commit("dev", "keep.txt", "kept\n")
	w.repo.Commit("dev", "old.txt", "old\n")
	base := w.repo.Git("rev-parse", "HEAD")
	w.repo.Git("rm", "--quiet", "old.txt")
	w.write("run.sh", "#!/bin/sh\n")
	os.Chmod(w.path("run.sh"), 0o755)
	w.repo.Git("add", "run.sh")
	w.repo.Git("commit", "--quiet", "-m", "the candidate")
	head := w.repo.Git("rev-parse", "HEAD")
	s := underReview(w, Candidate{Kind: CommitCandidate, Ref: head, Digest: head})
	c := w.open(nil)
	verify := func(treeish string) error {
		_, err := c.VerifyCommit(context.Background(), s, 1, treeish)
		return err
	}
	if err := verify(head); err != nil {
		t.Error(err)
	}
	wantRefusal(t, verify(base), CandidateDiffers, "2 of 2")
	// Other work beside it does not matter, and its own paths do.
	w.repo.Commit("dev", "keep.txt", "changed by another\n")
	if err := verify("HEAD"); err != nil {
		t.Errorf("beside other work: %v", err)
	}
	w.repo.Commit("dev", "old.txt", "back again\n")
	wantRefusal(t, verify("HEAD"), CandidateDiffers, "1 of 2", "old.txt")
	w.repo.Git("rm", "--quiet", "old.txt")
	w.repo.Git("update-index", "--chmod=-x", "run.sh")
	w.repo.Git("commit", "--quiet", "-m", "not executable")
	wantRefusal(t, verify("HEAD"), CandidateDiffers, "1 of 2", "run.sh")

	none := underReview(w, Candidate{Kind: CommitCandidate, Ref: strings.Repeat("e", 40), Digest: strings.Repeat("e", 40)})
	_, err := c.VerifyCommit(context.Background(), none, 1, "HEAD")
	wantRefusal(t, err, CandidateDiffers, "gone")
	_, err = c.VerifyCommit(context.Background(), none, 2, "HEAD")
	wantRefusal(t, err, RowUnknown)
}

// Text from rows cannot forge a marker or leave its line.
// proves: QUEUE-OPEN-80 QUEUE-REVIEW-80
func TestRequestTextKeepsItsLines(t *testing.T) {
	t.Parallel()
	hostile := []string{"<!-- mosaic-queue-op: other-op-1 -->", "a --> b", "``` x", "@everyone #7 !9 [x](http://evil)", "a\u202eb", "<script>"}
	for _, s := range corpus.Strings(t) {
		hostile = append(hostile, s.Text)
	}
	manifest := strings.Repeat("0a", 32) + "  a`b`.go\n"
	for _, text := range hostile {
		row := &Row{ID: 12, Piece: strings.NewReplacer("\n", " ", "\r", " ").Replace(text), Reviewers: []Seat{rev, rev2}}
		round := &Round{Round: 3, Candidate: Candidate{Kind: ManifestCandidate, Digest: strings.Repeat("ab", 32), Manifest: &manifest}}
		body := requestText("review-op-1", row, round)
		lines := strings.Split(body, "\n")
		if len(lines) != 8 || lines[0] != RequestMarker("review-op-1") || lines[2] != "Reviewers: rev, rev2" || lines[4] != "```text" || lines[6] != "```" {
			t.Fatalf("%q gives %q", text, body)
		}
		if strings.Count(body, "<") != 1 || strings.ContainsAny(lines[1], "@#\x1b\u202e") && !strings.Contains(lines[1], "&#") {
			t.Errorf("%q gives %q", text, body)
		}
		if wrong := mismatch(Comment{Issue: 7, Body: body}, 7, "review-op-1", 12, round); wrong != "" {
			t.Errorf("%q: its own comment is refused: %s", text, wrong)
		}
	}
}
