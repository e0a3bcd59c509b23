package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

// The whole of a business is copied and nothing is added: what resolves to an
// empty list stays one, and nothing comes from anywhere else.
// proves: BUS-BOOT-33 BUS-BOOT-34 BUS-BOOT-35 BUS-BOOT-36 BUS-BOOT-37 BUS-BOOT-38 BUS-BOOT-39
func TestTheAdapterCopies(t *testing.T) {
	t.Parallel()
	o := &org.Organization{
		Human: org.Human{ID: "dana", Name: "Dana"},
		Businesses: map[wire.Business]org.Business{"acme": {
			ID: "acme", Human: "dana",
			Arbiters: org.Arbiters{Technical: "cto"},
			Projects: map[string]org.Project{"web": {Repo: "/no/such/web"}, "app": {Repo: "/no/such/app"}},
			Vars:     map[string]any{"bus.tester": false},
			Roles: map[wire.Role]org.Instance{
				"cto": {Definition: "empty"},
				"dev": {
					Definition: "worker", Without: []string{"routine"},
					Credentials: map[string]org.Credential{"gitea": {File: "/no/such/token", RotateBy: "2027-03-01"}},
				},
			},
			Launch: &org.Launch{By: "cto", Instances: []wire.Role{"dev"}, Sandbox: org.Bubblewrap},
		}},
		Definitions: map[string]org.Definition{
			"empty": {Name: "empty", Authority: org.Authority{WithinRole: []string{}, CrossRole: []string{}}},
			"worker": {
				Name:      "worker",
				Authority: org.Authority{WithinRole: []string{"message.send", "routine"}, CrossRole: []string{"git.merge.protected"}},
				Messaging: org.Messaging{SendTo: []string{"human"}, ReceiveFrom: []string{}},
			},
		},
	}
	want := map[wire.Business]broker.Business{"acme": {
		ID: "acme", Human: "dana",
		Arbiters: broker.Arbiters{Technical: "cto"},
		Projects: []string{"app", "web"},
		Vars:     map[string]any{"bus.tester": false},
		Roles: map[wire.Role]broker.Role{
			"cto": {
				Definition:  "empty",
				Authority:   &broker.Authority{WithinRole: []string{}, CrossRole: []string{}},
				Credentials: map[string]broker.Credential{},
			},
			"dev": {
				Definition:  "worker",
				Authority:   &broker.Authority{WithinRole: []string{"message.send"}, CrossRole: []string{"git.merge.protected"}},
				Messaging:   broker.Messaging{SendTo: &[]string{"human"}, ReceiveFrom: &[]string{}},
				Credentials: map[string]broker.Credential{"gitea": {File: "/no/such/token", RotateBy: "2027-03-01"}},
			},
		},
		Launch: &broker.Launch{By: "cto", Instances: []wire.Role{"dev"}},
	}}
	got := businesses(o)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got["acme"].Roles["dev"].Authority.WithinRole[0] = "spend"
	if o.Definitions["worker"].Authority.WithinRole[0] != "message.send" {
		t.Error("the broker's lists are the organization's own")
	}
}

// proves: BUS-BOOT-32
func TestWhatInitWritesBoots(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := org.Init(root, "Dana", "acme"); err != nil {
		t.Fatal(err)
	}
	o, err := org.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	got := businesses(o)
	if len(got) != 1 || len(got["acme"].Roles) != 6 || got["acme"].Launch == nil {
		t.Errorf("got %+v", got)
	}
	text, err := wire.Encode(got)
	if err != nil {
		t.Fatal(err)
	}
	var back map[wire.Business]broker.Business
	if err := wire.Decode(text, &back); err != nil {
		t.Errorf("it does not travel in a boot message: %v", err)
	}
}
