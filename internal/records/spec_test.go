package records_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"mosaicstack.dev/mosaic/internal/git/gittest"
	"mosaicstack.dev/mosaic/internal/records"
	"mosaicstack.dev/mosaic/internal/wire"
)

// read reads the spec of the project web whose records are at dir.
func read(t *testing.T, dir string) (records.Spec, error) {
	t.Helper()
	r := records.NewReader(map[wire.Business]records.Business{
		"acme": {Human: "dana", Projects: map[string]string{"web": dir, "bare": ""}},
	})
	return r.Spec(context.Background(), "acme", "web")
}

func expect(t *testing.T, dir, commit string, confirmed bool) {
	t.Helper()
	got, err := read(t, dir)
	if want := (records.Spec{Commit: commit, Confirmed: confirmed}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func expectRefusal(t *testing.T, dir string, code wire.Code) {
	t.Helper()
	if got, err := read(t, dir); !errors.Is(err, wire.Refuse(code)) {
		t.Errorf("got %+v, %v; want %s", got, err, code)
	}
}

// proves: BUS-SPEC-01 BUS-SPEC-05 BUS-SPEC-06 BUS-SPEC-11 BUS-SPEC-12 BUS-SPEC-13 BUS-SPEC-14 BUS-SPEC-15
func TestSpecIsTheLastCommittedChange(t *testing.T) {
	t.Parallel()
	gittest.EachFormat(t, func(t *testing.T, format string) {
		r := gittest.New(t, format)
		expectRefusal(t, r.Dir, wire.ProjectFileMissing) // no commit at all

		r.Commit("dana", "docs/guide.md", "guide")
		expectRefusal(t, r.Dir, wire.ProjectFileMissing)

		first := r.Commit("dana", records.SpecPath, "one")
		expect(t, r.Dir, first, true)

		r.Commit("dev", "docs/guide.md", "better guide")
		expect(t, r.Dir, first, true) // a commit of other files changes nothing

		r.Write(records.SpecPath, "uncommitted")
		expect(t, r.Dir, first, true)
		r.Git("add", "--", records.SpecPath)
		expect(t, r.Dir, first, true) // staged is not committed

		byAgent := r.Commit("developer.dev", records.SpecPath, "two")
		expect(t, r.Dir, byAgent, false) // and not the older confirmed one

		again := r.Commit("dana", records.SpecPath, "three")
		expect(t, r.Dir, again, true)

		r.Git("rm", "--quiet", "--", records.SpecPath)
		r.Git("commit", "--quiet", "-m", "remove it")
		expectRefusal(t, r.Dir, wire.ProjectFileMissing)
	})
}

// proves: BUS-SPEC-12
func TestSpecIsConfirmedByExactlyTheHumansName(t *testing.T) {
	t.Parallel()
	for _, author := range []string{"Dana", "dana x", "dan", "dаna" /* Cyrillic */, "developer.dana"} {
		t.Run(author, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t, "sha1")
			id := r.Commit(author, records.SpecPath, "text")
			expect(t, r.Dir, id, false)
		})
	}
}

// A mailmap, a replacement object or a setting of the repository could show
// the human as author of what an agent wrote, or an older commit as the last.
// proves: BUS-SPEC-12 BUS-SPEC-13
func TestSpecIgnoresWhatDisguisesHistory(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, "sha1")
	confirmed := r.Commit("dana", records.SpecPath, "confirmed")
	byAgent := r.Commit("dev", records.SpecPath, "changed")
	r.Write(".mailmap", "dana <a@example.org> dev <a@example.org>\n")
	r.Git("add", ".mailmap")
	r.Git("commit", "--quiet", "-m", "mailmap")

	r.Git("replace", byAgent, confirmed)
	r.Git("config", "log.mailmap", "true")
	r.Git("config", "log.follow", "true")
	r.Git("config", "log.showSignature", "true")
	if err := os.WriteFile(filepath.Join(r.Dir, ".git/info/grafts"), []byte(r.Head()+" "+confirmed+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	expect(t, r.Dir, byAgent, false)
}

// proves: BUS-DEC-50 BUS-SPEC-01
func TestSpecRefusesAnUnsafeRepository(t *testing.T) {
	t.Parallel()
	good := func(t *testing.T) *gittest.Repository {
		r := gittest.New(t, "sha1")
		r.Commit("dana", records.SpecPath, "text")
		return r
	}
	t.Run("a symbolic link to it", func(t *testing.T) {
		t.Parallel()
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(good(t).Dir, link); err != nil {
			t.Fatal(err)
		}
		expectRefusal(t, link, wire.ProjectUnsafe)
	})
	t.Run("its .git is a symbolic link", func(t *testing.T) {
		t.Parallel()
		r := good(t)
		elsewhere := filepath.Join(t.TempDir(), "git")
		if err := os.Rename(filepath.Join(r.Dir, ".git"), elsewhere); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, filepath.Join(r.Dir, ".git")); err != nil {
			t.Fatal(err)
		}
		expectRefusal(t, r.Dir, wire.ProjectUnsafe)
	})
	t.Run("a directory of a repository", func(t *testing.T) {
		t.Parallel()
		r := good(t)
		expectRefusal(t, filepath.Join(r.Dir, "spec"), wire.ProjectUnsafe)
		expectRefusal(t, filepath.Join(r.Dir, ".git"), wire.ProjectUnsafe)
	})
	t.Run("a directory without repository", func(t *testing.T) {
		t.Parallel()
		expectRefusal(t, t.TempDir(), wire.ProjectUnsafe)
	})
	t.Run("another user's", func(t *testing.T) {
		t.Parallel()
		r := good(t)
		if err := os.Chown(r.Dir, 65534, 65534); err != nil {
			t.Skip("only root can give a directory away")
		}
		expectRefusal(t, r.Dir, wire.ProjectUnsafe)
	})
	t.Run("its work tree is elsewhere", func(t *testing.T) {
		t.Parallel()
		r := good(t)
		r.Git("config", "core.worktree", t.TempDir())
		expectRefusal(t, r.Dir, wire.ProjectUnsafe)
	})
	t.Run("its history is cut off", func(t *testing.T) {
		t.Parallel()
		r := good(t)
		r.Commit("dev", "docs/x.md", "x")
		clone := filepath.Join(t.TempDir(), "clone")
		r.Git("clone", "--quiet", "--depth=1", "file://"+r.Dir, clone)
		expectRefusal(t, clone, wire.ProjectUnsafe)
	})
	t.Run("the spec is a symbolic link", func(t *testing.T) {
		t.Parallel()
		r := good(t)
		r.Git("rm", "--quiet", "--", records.SpecPath)
		if err := os.MkdirAll(filepath.Join(r.Dir, "spec"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/etc/passwd", filepath.Join(r.Dir, records.SpecPath)); err != nil {
			t.Fatal(err)
		}
		r.Git("add", "--", records.SpecPath)
		r.Git("commit", "--quiet", "-m", "link")
		expectRefusal(t, r.Dir, wire.ProjectUnsafe)
	})
	t.Run("the spec is a directory", func(t *testing.T) {
		t.Parallel()
		r := gittest.New(t, "sha1")
		r.Commit("dana", records.SpecPath+"/x", "x")
		expectRefusal(t, r.Dir, wire.ProjectUnsafe)
	})
}

// proves: BUS-DEC-50
func TestSpecOfAnUnknownProject(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t, "sha1")
	repo.Commit("dana", records.SpecPath, "text")
	r := records.NewReader(map[wire.Business]records.Business{
		"acme":  {Human: "dana", Projects: map[string]string{"web": repo.Dir, "none": "", "gone": filepath.Join(t.TempDir(), "gone")}},
		"other": {Human: "dana"},
	})
	for _, c := range []struct {
		business wire.Business
		project  string
	}{{"acme", "wep"}, {"acme", "none"}, {"acme", "gone"}, {"acme", ""}, {"other", "web"}, {"nobody", "web"}} {
		if got, err := r.Spec(context.Background(), c.business, c.project); !errors.Is(err, wire.Refuse(wire.ProjectNotFound)) {
			t.Errorf("%s/%s: got %+v, %v", c.business, c.project, got, err)
		}
	}
}

func TestSpecReadsABareRepository(t *testing.T) {
	t.Parallel()
	gittest.EachFormat(t, func(t *testing.T, format string) {
		work := gittest.New(t, format)
		id := work.Commit("dana", records.SpecPath, "text")
		bare := gittest.NewBare(t, format)
		work.Git("push", "--quiet", bare.Dir, "main")
		expect(t, bare.Dir, id, true)
	})
}

func TestSpecStopsWithItsContext(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t, "sha1")
	repo.Commit("dana", records.SpecPath, "text")
	r := records.NewReader(map[wire.Business]records.Business{"acme": {Human: "dana", Projects: map[string]string{"web": repo.Dir}}})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got, err := r.Spec(ctx, "acme", "web"); !errors.Is(err, wire.Refuse(wire.ProjectFailed)) {
		t.Errorf("got %+v, %v", got, err)
	}
}
