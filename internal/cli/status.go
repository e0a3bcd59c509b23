package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/client"
	"mosaicstack.dev/mosaic/internal/host"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

func (a *app) statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say whether the host answers, since when, and what runs",
		Long: `Exit code 0 means that the host and its broker answered. With --wait it asks
again until they do or the time is up.`,
		Example: "mosaic status\nmosaic status --wait 10s --json",
		Args:    arguments(),
	}
	wait := waiting(cmd, "wait", 0, "how long to wait for an answer, such as 10s")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		deadline := time.Now().Add(client.DefaultTimeout)
		if *wait > 0 {
			deadline = time.Now().Add(*wait)
		}
		limited, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		s, err := a.session(limited)
		if err != nil {
			return err
		}
		var status host.Status
		var lastErr error
		if *wait > 0 {
			a.out.progress("waiting for the host ...")
		}
		answered, err := poll(ctx, max(*wait, 0), func() (bool, error) {
			status, lastErr = askStatus(ctx, s, deadline)
			refused := lastErr != nil && !errors.Is(lastErr, wire.Refuse(wire.Unavailable)) && !errors.Is(lastErr, wire.Refuse(wire.TimedOut))
			if refused {
				return false, lastErr
			}
			return lastErr == nil, nil
		})
		if err != nil {
			return err
		}
		if !answered {
			if !s.role {
				return instead(lastErr, "no host answers on this data root", "Start it with `mosaic up --detach`; `mosaic doctor` says what is in its way.")
			}
			return lastErr
		}
		report := statusReport{Status: status, Fault: a.organizationFault(status.DataRoot)}
		return a.out.answer(report, func(w *screen) { showStatus(w, report) })
	}
	return cmd
}

// statusReport is the host's status with what the person's file lacks.
type statusReport struct {
	host.Status
	Fault *organizationFault `json:"organizationFault,omitempty"`
}

// organizationFault says why the organization file does not load. The host goes
// on with what it read before, so this stops nothing but must be known.
type organizationFault struct {
	Error    wire.Code `json:"error"`
	Sentence string    `json:"sentence"`
}

// organizationFault looks at the file of a running host; a managed run is not
// shown where it is.
func (a *app) organizationFault(root string) *organizationFault {
	if root == "" {
		return nil
	}
	_, err := org.Load(root)
	if err == nil {
		return nil
	}
	f := describe(err, false)
	// Its sentence is about a start that was refused, and nothing was started.
	var problems org.Problems
	if errors.As(err, &problems) && len(problems) > 0 {
		f.sentence = problems[0].Error()
		if more := len(problems) - 1; more > 0 {
			f.sentence += " (and " + plural(more, "more fault") + ")"
		}
	}
	return &organizationFault{f.code, f.sentence}
}

// askStatus asks the host, and then the broker, which is what makes the answer
// true: a host without its broker does nothing for anyone.
// A host that hangs takes no longer than until the deadline.
func askStatus(ctx context.Context, s *session, deadline time.Time) (host.Status, error) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	status, err := hostVerb[host.Status](ctx, s, "status", none{})
	if err != nil {
		return status, err
	}
	_, err = verb[raw](ctx, s, "agents", none{})
	if errors.Is(err, wire.Refuse(wire.NotHolder)) {
		err = nil // a run without its role is refused, but by a broker that answers
	}
	return status, err
}

func showStatus(w *screen, r statusReport) {
	s, now := r.Status, time.Now()
	w.line("%s since %s (%s), version %s", w.bold("%s", s.Phase), s.Since, ago(s.Since, now), s.Version)
	showPaths(w, s, "")
	if r.Fault != nil {
		w.line("%s", w.yellow("organization.yaml is broken: %s", r.Fault.Sentence))
		w.line("  Until it is mended the host goes on with what it read before; nothing stops,")
		w.line("  and no change of the file counts. Check it with: mosaic doctor")
	}
	for _, b := range s.Businesses {
		w.line("%s: %s, launches %s, sandbox %s", b.ID, sessions(b), b.Launches, sandboxWords(b.Sandbox))
	}
	if r := s.LastRefusal; r != nil {
		w.line("last refusal: %s of %s %s at %s", r.Code, r.Verb, r.Instance, r.At)
	}
	if len(s.Runs) > 0 {
		w.gap()
		showRuns(w, s.Runs)
	}
}

func sandboxWords(s host.SandboxStatus) string {
	switch {
	case s.Kind == "none":
		return "none: runs share your processes and files"
	case s.Code == wire.SandboxLowered:
		return s.Kind + "; organization.yaml gives it up, so nothing is launched: mosaic explain " + string(s.Code)
	case !s.Works:
		return s.Kind + " does not work here, so nothing is launched: mosaic doctor"
	}
	return s.Kind
}

func showPaths(w *screen, s host.Status, log string) {
	pairs := [][2]string{{"data root", s.DataRoot}}
	if s.Sockets != nil {
		pairs = append(pairs, [2]string{"bus", s.Sockets.Bus}, [2]string{"human", s.Sockets.Human}, [2]string{"host", s.Sockets.Host})
	}
	w.fields("  ", append(pairs, [2]string{"log", log})...)
}
