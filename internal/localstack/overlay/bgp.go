package overlay

import (
	"context"
	"path/filepath"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/frr"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

// Autonomous systems of the speakers and of the fabric's router.
const (
	SpeakersASN = 64512
	RouterASN   = 65000
)

// speakers that the topology has servers for.
func (o *Overlay) speakers() (names []string) {
	for _, name := range []string{fabric.Speaker1, fabric.Speaker2} {
		if o.server(name).IsValid() {
			names = append(names, name)
		}
	}
	return names
}

// startRouter lets the fabric's router learn from the speakers where public addresses are.
func (o *Overlay) startRouter(ctx context.Context) (err error) {
	config := frr.Config{ASN: RouterASN, RouterID: o.Topology().Subnets[0].Gateways[0].Addr()}
	for _, name := range o.speakers() {
		config.Neighbors = append(config.Neighbors, frr.Neighbor{Address: o.server(name), ASN: SpeakersASN})
	}
	o.Router, err = frr.Start(ctx, o.Fabric, fabric.Router, o.config.Dir, config)
	return err
}

// StartSpeaker starts a BGP speaker on its server.
func (o *Overlay) StartSpeaker(ctx context.Context, name string) error {
	return o.run(ctx, name, process.Command{
		Name: "hydrazine-" + name, Path: o.config.Speaker, Log: filepath.Join(o.config.Dir, name+".log"),
		Args: []string{
			"--kubeconfig=" + o.config.SpeakerKubeconfig, "--name=" + name, "--speaker-namespace=" + o.config.SpeakersNamespace,
			"--metrics-addr=0", "--health-addr=" + health, "--poll-interval=1s",
		},
	})
}
