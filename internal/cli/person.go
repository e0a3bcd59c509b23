package cli

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/client"
	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/wire"
)

// requirePerson refuses early, and with the reason, where a proof could only
// fail: below an agent's run.
func (a *app) requirePerson() error {
	if why := broker.AgentAbove(proc.System(), os.Getpid()); why != "" {
		return explained(wire.Refuse(wire.HumanRequired), "%s", why)
	}
	return nil
}

// unproven adds to a refused proof what can be seen from here: an agent above
// this process, a host that runs another program, or a business that it does
// not have.
func (a *app) unproven(ctx context.Context, err error) error {
	if a.env.managed() || !errors.Is(err, wire.Refuse(wire.HumanRequired)) {
		return err
	}
	if why := a.requirePerson(); why != nil {
		return why
	}
	if root, rootErr := a.root(); rootErr == nil && otherProgram(root) {
		return explained(wire.Refuse(wire.HumanRequired), "the host runs another mosaic program than this one; start it again after an update: mosaic down, mosaic up")
	}
	if named := a.namedBusiness(); named != "" {
		return a.unknownBusiness(ctx, named, err)
	}
	return err
}

// unknownBusiness replaces the refusal of a proof that was good: whoever names
// a business that the host does not have is refused like a stranger.
func (a *app) unknownBusiness(ctx context.Context, named wire.Business, err error) error {
	sockets, sockErr := a.sockets()
	proof, proofErr := a.prove()
	if sockErr != nil || proofErr != nil {
		return err
	}
	running, askErr := businesses(ctx, sockets, proof)
	if askErr != nil {
		return err
	}
	var names []string
	for _, b := range running {
		if b.ID == named {
			return err
		}
		names = append(names, string(b.ID))
	}
	return explained(wire.Refuse(wire.UnknownBusiness), "%q; there is %s", echo(string(named)), strings.Join(names, ", "))
}

// shimRequest is what the human shim reads.
type shimRequest struct {
	Business wire.Business `json:"business"`
	Verb     string        `json:"verb"`
	Args     raw           `json:"args,omitempty"`
}

// humanShimCommand is the transport of the person's requests for other
// programs (BUS-HUMAN-01 to 04). It is hidden because people have commands.
func (a *app) humanShimCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:    "human-shim SOCKET",
		Hidden: true,
		Short:  "Send one request of the person to a socket",
		Long: `Reads {"business":…,"verb":…,"args":{…}} from stdin, sends it over the socket
with the proof of this process, and prints the result as JSON. A refusal is a
JSON object on stderr.`,
		Example: `echo '{"business":"acme","verb":"inbox"}' | mosaic human-shim ~/.local/share/mosaic/bus/human.sock`,
		Args:    arguments("SOCKET"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.out.json, a.out.errorsOnStderr = true, true
		proof, err := a.prove()
		if err != nil {
			return err
		}
		text, err := a.input(cmd.Context())
		if err != nil {
			return err
		}
		var request shimRequest
		if err := wire.Decode([]byte(text), &request); err != nil {
			return err
		}
		human := client.New(args[0], client.Human(proof.PID, proof.Nonce, string(request.Business)))
		var arguments any
		if request.Args != nil {
			arguments = request.Args
		}
		var reply raw
		if err := human.Call(cmd.Context(), request.Verb, arguments, &reply); err != nil {
			return err
		}
		return a.out.answer(reply, func(w *screen) { w.json(reply) })
	}
	return cmd
}
