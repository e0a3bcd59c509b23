package demo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The project of the demo: a small Go module with a test that fails.
var projectFiles = map[string]string{
	"go.mod": "module example.com/mean\n\ngo 1.21\n",
	"mean.go": `// Package mean computes averages.
package mean

// Of returns the arithmetic mean of values, or 0 for none.
func Of(values ...float64) float64 {
	if len(values) == 0 {
		return 0
	}
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total / float64(len(values) - 1)
}
`,
	"mean_test.go": `package mean

import "testing"

func TestOf(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{2, 4}, 3},
		{[]float64{1, 2, 3, 6}, 3},
	} {
		if got := Of(c.values...); got != c.want {
			t.Errorf("Of(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}
`,
}

// clone is the working copy of a role.
func (d *demo) clone(role string) string { return filepath.Join(d.dir, "work", role) }

// makeProject makes the repository with its first commit on main, and a clone
// for each role.
func (d *demo) makeProject(ctx context.Context) error {
	seed := filepath.Join(d.dir, "seed")
	if err := os.MkdirAll(seed, 0o700); err != nil {
		return err
	}
	for name, text := range projectFiles {
		if err := os.WriteFile(filepath.Join(seed, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	steps := [][]string{
		{"init", "--quiet", "--initial-branch=main", seed},
		{"-C", seed, "add", "--all"},
		{"-C", seed, "commit", "--quiet", "--message", "mean: the arithmetic mean"},
		{"clone", "--quiet", "--bare", seed, d.repository()},
	}
	for _, role := range roles {
		clone := d.clone(role)
		steps = append(steps, []string{"clone", "--quiet", d.repository(), clone})
		// The person's own Git settings must not change what the scripts do.
		for _, setting := range [][2]string{
			{"user.name", role}, {"user.email", role + "@example.com"},
			{"commit.gpgSign", "false"}, {"core.hooksPath", "/dev/null"}, {"core.autocrlf", "false"},
		} {
			steps = append(steps, []string{"-C", clone, "config", setting[0], setting[1]})
		}
	}
	for _, step := range steps {
		if _, err := d.git(ctx, step...); err != nil {
			return err
		}
	}
	return os.RemoveAll(seed)
}

// repository is the bare repository that the roles push to.
func (d *demo) repository() string { return filepath.Join(d.dir, "web.git") }

// git runs Git with none of the caller's configuration or environment.
func (d *demo) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env = []string{
		"PATH=" + d.variable("PATH"), "HOME=" + d.dir, "LC_ALL=C",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=demo", "GIT_AUTHOR_EMAIL=demo@example.com",
		"GIT_COMMITTER_NAME=demo", "GIT_COMMITTER_EMAIL=demo@example.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %s", strings.Join(args, " "), lastLine(string(out), err))
	}
	return strings.TrimSpace(string(out)), nil
}
