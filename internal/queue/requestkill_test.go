package queue

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/internal/gitea/giteatest"
)

// requestChild is a process that asks for a review of row 1. It may end itself
// before the file call that the test numbered.
func requestChild() {
	files := hook(nil)
	if n, err := strconv.Atoi(os.Getenv("QUEUE_TEST_KILL")); err == nil {
		files.before = killAt(n)
	}
	ctx := context.Background()
	c, err := open(ctx, os.Getenv("QUEUE_TEST_DIR"), files, quick())
	if err == nil {
		_, err = c.MoveInReview(ctx, killedOp, dev, MoveArgs{Row: 1, Candidate: os.Getenv("QUEUE_TEST_CANDIDATE")},
			c.GiteaTransport(ctx, os.Getenv(CredentialVariable), os.Getenv("HOME"), 20*time.Second))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child prepares a process that asks for killedOp.
func (o *office) child(kill string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=request", "QUEUE_TEST_DIR="+o.root, "QUEUE_TEST_CANDIDATE="+o.head,
		"QUEUE_TEST_KILL="+kill, CredentialVariable+"="+o.credential("dev"), "HOME="+o.home)
	return cmd
}

// leftRequesting demands what every kill between intent and outcome leaves: an
// attempt that nothing sends again, until a person resolves it.
func (o *office) leftRequesting(posts int) {
	o.t.Helper()
	if o.exists(DefaultLock) {
		if _, err := o.open(nil).Unlock(context.Background()); err != nil {
			o.t.Fatal(err)
		}
	}
	o.wantAttempt(killedOp, Requesting, 0, posts)
	again, err := o.request(killedOp)
	if err != nil || !again.Intent.Already {
		o.t.Errorf("the retry: %+v, %v", again, err)
	}
	_, err = o.again("review-op-2")
	wantRefusal(o.t, err, AttemptUnresolved, string(killedOp))
	o.wantAttempt(killedOp, Requesting, 0, posts)
	if posts == 0 {
		o.abandon("abandon-op-1", killedOp)
		return
	}
	if _, err := o.resolve("resolve-op-1", killedOp, o.server.Comments()[0].ID); err != nil {
		o.t.Error(err)
	}
	o.wantAttempt(killedOp, Posted, 0, posts)
}

// The process is killed by the server: while it asks who it is, and after the
// comment was accepted.
// proves: QUEUE-TESTS-79 QUEUE-TESTS-80 QUEUE-TESTS-101
func TestKilledWhileRequesting(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arm   func(*office, func())
		posts int
	}{
		"before the POST":    {func(o *office, kill func()) { o.server.OnLogin(kill) }, 0},
		"after the server's": {func(o *office, kill func()) { o.server.OnReceived(func(giteatest.Comment) { kill() }) }, 1},
		"in the server's say": {func(o *office, kill func()) {
			o.server.OnReceived(func(giteatest.Comment) { kill() })
			o.server.Next(giteatest.Hang)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			cmd := o.child("")
			started := make(chan struct{})
			test.arm(o, func() {
				<-started
				cmd.Process.Kill()
			})
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			close(started)
			if err := cmd.Wait(); err == nil {
				t.Fatal("the child ran to its end")
			}
			o.server.OnLogin(nil)
			o.server.OnReceived(nil)
			o.server.Next(giteatest.Created)
			o.leftRequesting(test.posts)
		})
	}
}

// The process is killed at every step of recording the outcome, the lock's
// reacquisition first.
// proves: QUEUE-TESTS-81 QUEUE-TESTS-101
func TestKilledWhileRecordingTheOutcome(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	files := hook(nil)
	c := o.open(files)
	if _, err := c.MoveInReview(context.Background(), killedOp, dev, MoveArgs{Row: 1, Candidate: o.head}, o.as(c, "dev")); err != nil {
		t.Fatal(err)
	}
	calls := files.calls
	var second int // the outcome's first call
	for n, c := range calls {
		if c.is(StepRelease, "remove") && second == 0 {
			second = n + 1
		}
	}
	var at []int
	for _, n := range points(calls) {
		if n >= second {
			at = append(at, n)
		}
	}
	if len(at) < 8 || !slices.Contains(at, second) {
		t.Fatalf("the outcome has the points %v of %v", at, calls)
	}
	for _, n := range at {
		t.Run(fmt.Sprintf("%02d before %s", n, calls[n]), func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			if err := o.child(strconv.Itoa(n)).Run(); err == nil {
				t.Fatal("the child ran to its end")
			}
			outcome := calls[second:]
			if visible := passed(outcome, n-second, StepPublish, "rename"); !visible {
				o.leftRequesting(1)
				return
			}
			// The outcome is in the log: sync and render finish what was begun.
			if o.exists(DefaultLock) {
				if _, err := o.open(nil).Unlock(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := o.open(nil).Sync(context.Background(), NoOp); err != nil {
				t.Fatal(err)
			}
			if _, err := o.open(nil).Render(context.Background(), NoOp); err != nil {
				t.Fatal(err)
			}
			if again, err := o.request(killedOp); err != nil || !again.Intent.Already {
				t.Errorf("the retry: %+v, %v", again, err)
			}
			o.wantAttempt(killedOp, Posted, 201, 1)
		})
	}
}
