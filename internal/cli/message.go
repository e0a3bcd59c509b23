package cli

import (
	"bufio"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/wire"
)

// sendArgs are the arguments of message.send.
type sendArgs struct {
	To        wire.Role       `json:"to"`
	Body      string          `json:"body"`
	Class     string          `json:"class,omitempty"`
	InReplyTo wire.MessageID  `json:"in_reply_to,omitempty"`
	Corrects  wire.MessageID  `json:"corrects,omitempty"`
	Decision  wire.DecisionID `json:"decision,omitempty"`
}

// sent is the result of message.send. Waiting is there when nobody holds the
// role yet.
type sent struct {
	ID      wire.MessageID `json:"id"`
	Request *wire.EventID  `json:"request"`
	Waiting any            `json:"waiting,omitempty"`
}

func (a *app) sendCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "send ROLE [TEXT]",
		Aliases: []string{"tell", "message"},
		Short:   "Send a message to a role, or to the person",
		Long: `Sends a message. Without TEXT, or with - for it, the text is read from stdin.
A class is REQUEST, ASSIGNMENT, REVIEW-REQUEST, REVIEW-RESULT, RESULT, INFO,
DECISION, REACTION or BLOCK; without one the bus chooses.`,
		Example: `mosaic send dev "Please look at the failing test" --class ASSIGNMENT
git log -1 | mosaic send rev -`,
		Args: arguments("ROLE", "[TEXT]"),
	}
	flags := cmd.Flags()
	class := flags.String("class", "", "what kind of message it is")
	replyTo := flags.String("reply-to", "", "id of the message that this answers")
	corrects := flags.String("corrects", "", "id of your earlier message that this replaces")
	decision := flags.String("decision", "", "id of the decision that this cites or spends")
	cmd.ValidArgsFunction = a.completeRoles
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := a.session(cmd.Context())
		if err != nil {
			return err
		}
		text := "-"
		if len(args) == 2 {
			text = args[1]
		}
		if text == "-" {
			if a.interactive() {
				a.out.progress("Type the message; end it with Ctrl-D.")
			}
			read, err := a.input(cmd.Context())
			if err != nil {
				return err
			}
			text = strings.TrimSuffix(read, "\n")
		}
		order := sendArgs{To: wire.Role(args[0]), Body: text, Class: *class}
		ctx := cmd.Context()
		if order.InReplyTo, err = findMessage(ctx, s, *replyTo); err != nil {
			return err
		}
		if order.Corrects, err = findMessage(ctx, s, *corrects); err != nil {
			return err
		}
		if order.Decision, err = findDecisionID(ctx, s, *decision); err != nil {
			return err
		}
		result, err := verb[sent](ctx, s, "message.send", order)
		if err != nil {
			return err
		}
		return a.out.answer(result, func(w *screen) {
			w.line("Sent to %s: %s", order.To, short(result.ID))
			if result.Waiting != nil {
				w.line("Nobody holds %s now; it is handed over when a run claims the role.", order.To)
			}
			if !s.role {
				w.line("  mosaic replies %s", short(result.ID))
			}
		})
	}
	return cmd
}

// feed is the reply of the verb messages, newest first.
type feed struct {
	Messages []message       `json:"messages"`
	Total    int64           `json:"total"`
	Unread   int64           `json:"unread"`
	Next     *wire.MessageID `json:"next"`
}

// findMessage finds the message that typed names. "" stays "".
func findMessage(ctx context.Context, s *session, typed string) (wire.MessageID, error) {
	if typed == "" {
		return "", nil
	}
	return resolve[wire.MessageID](ctx, s, typed, kindMessage, wire.MessageNotFound)
}

func (a *app) messagesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "messages",
		Aliases: []string{"mail", "list-messages"},
		Short:   "List the messages to you, newest first",
		Example: `mosaic messages
mosaic messages --limit 10 --after 0197c3a0-7d1e-7c55-9f3a-2b6f5f0c9e21`,
		Args: arguments(),
	}
	limit := cmd.Flags().Int("limit", 50, "how many, 1 to 200")
	after := cmd.Flags().String("after", "", "show what is older than this message")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := a.session(cmd.Context())
		if err != nil {
			return err
		}
		args := map[string]any{"limit": *limit}
		if *after != "" {
			id, err := findMessage(cmd.Context(), s, *after)
			if err != nil {
				return err
			}
			args["after"] = id
		}
		reply, page, err := whole[feed](cmd.Context(), s, "messages", args)
		if err != nil {
			return err
		}
		return a.out.answer(reply, func(w *screen) {
			if len(page.Messages) == 0 {
				w.line("No messages.")
				return
			}
			now := time.Now()
			var rows [][]string
			for _, m := range page.Messages {
				mark := ""
				if !m.Read {
					mark = "new"
				}
				rows = append(rows, []string{short(m.ID), mark, string(m.FromRole), m.Class, ago(m.At, now), m.Body})
			}
			w.table([]string{"ID", "", "FROM", "CLASS", "SENT", "TEXT"}, rows)
			w.line("%s in all, %d unread.", plural(int(page.Total), "message"), page.Unread)
			if page.Next != nil {
				w.line("  mosaic messages --after %s", *page.Next)
			}
		})
	}
	return cmd
}

// batch is the reply of message.receive.
type batch struct {
	Messages []message `json:"messages"`
}

func showMessage(w *screen, m message, now time.Time) {
	showHead(w, m, now)
	w.body("    ", m.Body)
	showLinks(w, m)
}

// showExcerpt shows the first lines of a message, and how to read the rest.
func showExcerpt(w *screen, m message, now time.Time) {
	showHead(w, m, now)
	if w.excerpt("    ", m.Body, inboxLines) {
		w.line("    … the rest: mosaic read %s", short(m.ID))
	}
	showLinks(w, m)
}

func showHead(w *screen, m message, now time.Time) {
	w.line("%s  %s  %s to %s, %s", short(m.ID), w.bold("%s", m.Class), word(m.FromRole), styled(recipient(m)), ago(m.At, now))
}

func showLinks(w *screen, m message) {
	var links []string
	if m.InReplyTo != nil {
		links = append(links, "answers "+short(*m.InReplyTo))
	}
	if m.Corrects != nil {
		links = append(links, "replaces "+short(*m.Corrects))
	}
	if m.Decision != nil {
		links = append(links, "decision "+short(*m.Decision))
	}
	if len(links) > 0 {
		w.line("    %s", w.dim("%s", strings.Join(links, "; ")))
	}
}

// recipient is whom a message was for, with the name that was used for it.
func recipient(m message) string {
	if m.ToName != nil {
		return word(*m.ToName) + " (" + word(m.ToRole) + ")"
	}
	return word(m.ToRole)
}

func (a *app) receiveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "receive",
		Aliases: []string{"recv", "poll"},
		Short:   "Take the messages that wait for you; each is handed over once",
		Long: `Hands over at most 100 messages, oldest first, each exactly once: mark what
you have dealt with using "mosaic read ID". With --wait it waits for the first
message and ends with code 0 and no messages when none comes.`,
		Example: `mosaic receive
mosaic receive --wait 30s --json`,
		Args: arguments(),
	}
	wait := waiting(cmd, "wait", 0, "how long to wait for the first message, such as 30s")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := a.session(cmd.Context())
		if err != nil {
			return err
		}
		var reply raw
		var got batch
		_, err = poll(cmd.Context(), max(*wait, 0), func() (bool, error) {
			reply, got, err = whole[batch](cmd.Context(), s, "message.receive", none{})
			return len(got.Messages) > 0, err
		})
		if err != nil {
			return err
		}
		return a.out.answer(reply, func(w *screen) {
			if len(got.Messages) == 0 {
				w.line("No messages.")
				return
			}
			for _, m := range got.Messages {
				showMessage(w, m, time.Now())
			}
		})
	}
	return cmd
}

func (a *app) readCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "read ID",
		Aliases: []string{"show", "open", "get"},
		Short:   "Show a message and mark it read",
		Long: `Shows a message and marks it read. A message that was not received yet is
received first, with all that wait before it; those stay unread.`,
		Example: "mosaic read 9d2b77aa",
		Args:    arguments("ID"),
	}
	cmd.ValidArgsFunction = a.completeMessages
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		s, err := a.session(ctx)
		if err != nil {
			return err
		}
		id, err := findMessage(ctx, s, args[0])
		if err != nil {
			return err
		}
		receipt, err := markRead(ctx, s, id)
		if err != nil {
			return err
		}
		m, err := messageOf(ctx, s, id)
		if err != nil {
			return err
		}
		answer := struct {
			readReceipt
			Message raw `json:"message"`
		}{readReceipt: receipt}
		if m != nil {
			answer.Message = m.Row
		}
		return a.out.answer(answer, func(w *screen) {
			if m != nil {
				showMessage(w, *m.message, time.Now())
			}
			w.line("Marked read.")
		})
	}
	return cmd
}

// readReceipt is the result of message.read.
type readReceipt struct {
	ID wire.MessageID `json:"id"`
	At wire.Timestamp `json:"at"`
}

// markRead marks a message read. The person's messages can be seen in the
// inbox before they were handed over, and only what was handed over can be
// marked, so they are received first where that is what is missing.
func markRead(ctx context.Context, s *session, id wire.MessageID) (readReceipt, error) {
	args := map[string]wire.MessageID{"id": id}
	receipt, err := verb[readReceipt](ctx, s, "message.read", args)
	if s.role || !errors.Is(err, wire.Refuse(wire.MessageNotFound)) {
		return receipt, err
	}
	for {
		got, receiveErr := verb[batch](ctx, s, "message.receive", none{})
		if receiveErr != nil {
			return receipt, receiveErr
		}
		for _, m := range got.Messages {
			if m.ID == id {
				return verb[readReceipt](ctx, s, "message.read", args)
			}
		}
		if len(got.Messages) == 0 {
			return receipt, err
		}
	}
}

// messageOf reads a message from the record, or nil.
func messageOf(ctx context.Context, s *session, id wire.MessageID) (*record, error) {
	rows, err := readTrail(ctx, s, string(id))
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.message != nil && r.message.ID == id {
			return &r, nil
		}
	}
	return nil, nil
}

func (a *app) repliesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "replies ID",
		Short:   "Show the answers to a message; it takes nothing from anyone",
		Example: "mosaic replies 0197c3a0-7d1e-7c55-9f3a-2b6f5f0c9e21",
		Args:    arguments("ID"),
	}
	cmd.ValidArgsFunction = a.completeMessages
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := a.session(cmd.Context())
		if err != nil {
			return err
		}
		id, err := findMessage(cmd.Context(), s, args[0])
		if err != nil {
			return err
		}
		reply, messages, err := whole[[]message](cmd.Context(), s, "replies", map[string]wire.MessageID{"id": id})
		if err != nil {
			return err
		}
		return a.out.answer(reply, func(w *screen) {
			if len(messages) == 0 {
				w.line("No answers yet.")
			}
			for _, m := range messages {
				showMessage(w, m, time.Now())
			}
		})
	}
	return cmd
}

func (a *app) talkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "talk ROLE",
		Aliases: []string{"chat"},
		Short:   "Send each line of stdin to a role and print its answers",
		Long: `Sends each line that you type to a role, waits for the answer and prints it,
until Ctrl-D or the end of the input. It works in a pipe.`,
		Example: `mosaic talk dev
echo "What are you working on?" | mosaic talk dev --wait 2m`,
		Args: arguments("ROLE"),
	}
	wait := waiting(cmd, "wait", 10*time.Minute, "how long to wait for each answer")
	cmd.ValidArgsFunction = a.completeRoles
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if a.out.json {
			return usage("talk prints a conversation, not a document; use send and replies with --json")
		}
		s, err := a.session(cmd.Context())
		if err != nil {
			return err
		}
		return a.talk(cmd.Context(), s, wire.Role(args[0]), *wait)
	}
	return cmd
}

func (a *app) talk(ctx context.Context, s *session, role wire.Role, wait time.Duration) error {
	if err := checkRole(ctx, s, role); err != nil {
		return err
	}
	lines := bufio.NewScanner(a.stdin)
	lines.Buffer(nil, wire.MaxRequest)
	unanswered := false
	for a.promptFor(role) {
		more, err := await(ctx, func() (bool, error) { return lines.Scan(), nil })
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		if err := checkText("stdin", lines.Text()); err != nil {
			return err
		}
		sentOne, err := verb[sent](ctx, s, "message.send", sendArgs{To: role, Body: lines.Text()})
		if err != nil {
			return err
		}
		a.out.progress("waiting for %s ...", role)
		answered, err := poll(ctx, wait, func() (bool, error) {
			replies, err := verb[[]message](ctx, s, "replies", map[string]wire.MessageID{"id": sentOne.ID})
			if err != nil {
				return false, err
			}
			answers := 0
			for _, m := range replies {
				if m.ToRole != wire.HumanRole {
					continue // the bus tells the launcher of a message that waits
				}
				answers++
				if err := a.out.show(func(w *screen) { w.line("%s:", w.bold("%s", word(m.FromRole))); w.body("  ", m.Body) }); err != nil {
					return false, err
				}
				if _, err := markRead(ctx, s, m.ID); err != nil {
					return false, err
				}
			}
			return answers > 0, nil
		})
		if err != nil {
			return err
		}
		if !answered {
			unanswered = true
			a.out.warn("no answer from %s within %s; look later: mosaic replies %s", role, wait, short(sentOne.ID))
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if unanswered {
		return wire.Refuse(wire.TimedOut)
	}
	return nil
}
