package providerid_test

import (
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/providerid"
)

const (
	site     = "517e0000-0000-4000-8000-000000000001"
	instance = "a4049217-2963-4c44-9587-29f168d8a707"
)

func TestProviderID_isReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	id := providerid.ProviderID{SiteID: site, InstanceID: instance}
	g.Expect(id.String()).To(Equal("nvidia-bmm://" + site + "/" + instance))
	g.Expect(providerid.Parse(id.String())).To(Equal(id))
}

func TestParse_refusesWhatIsMalformed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "nvidia-bmm", "nvidia-bmm:/" + site + "/" + instance, "nvidia-bmm://", "nvidia-bmm://" + site,
		"nvidia-bmm://" + site + "/", "nvidia-bmm:///" + instance,
		"nvidia-bmm://" + site + "/" + instance + "/x",
		"nvidia-bmm://{" + site + "}/" + instance,
		"nvidia-bmm://517E0000-0000-4000-8000-000000000001/" + instance, // others compare it as text
		site + "/" + instance, "://" + site + "/" + instance, "nico://", "a b://x", "nvidia_bmm://" + site + "/" + instance,
	} {
		_, err := providerid.Parse(text)
		g := NewWithT(t)
		g.Expect(err).To(MatchError(ContainSubstring("is not nvidia-bmm://SITE-UUID/INSTANCE-UUID")), text)
		_, foreign := errors.AsType[*providerid.ForeignError](err)
		g.Expect(foreign).To(BeFalse(), text)
	}
}

// A node of another provider is no mistake: it is left to that one.
func TestParse_tellsWhatIsForeign(t *testing.T) {
	t.Parallel()
	for text, scheme := range map[string]string{
		"nico://org/tenant/site/" + instance:           "nico",
		"nvidia-carbide://" + site + "/" + instance:    "nvidia-carbide",
		"aws:///eu-central-1a/i-0123456789abcdef0":     "aws",
		"NVIDIA-BMM://" + site + "/" + instance:        "NVIDIA-BMM",
		"nvidia-bmm2://" + site + "/" + instance:       "nvidia-bmm2",
		"kwok://nvidia-bmm://" + site + "/" + instance: "kwok",
	} {
		_, err := providerid.Parse(text)
		foreign, ok := errors.AsType[*providerid.ForeignError](err)
		g := NewWithT(t)
		g.Expect(ok).To(BeTrue(), text)
		g.Expect(foreign.Scheme).To(Equal(scheme))
		g.Expect(err).To(MatchError(And(ContainSubstring(text), ContainSubstring("another provider, "+scheme))))
	}
}

// An ID that is read names the same instance when it is written again; one that isn't is either foreign or malformed.
func FuzzParse(f *testing.F) {
	f.Add("nvidia-bmm://" + site + "/" + instance)
	f.Add("nvidia-bmm://x/y")
	f.Add("nico://org/tenant/site/" + instance)
	f.Add("nvidia-carbide://" + site + "/" + instance)
	f.Add("nvidia-bmm://" + site + "/urn:uuid:" + instance)
	f.Fuzz(func(t *testing.T, text string) {
		id, err := providerid.Parse(text)
		foreign, ok := errors.AsType[*providerid.ForeignError](err)
		switch {
		case err == nil:
			if id.String() != text {
				t.Errorf("%q is read as %q", text, id)
			}
		case id != providerid.ProviderID{}:
			t.Errorf("%q is refused and read as %q", text, id)
		case ok:
			if !strings.HasPrefix(text, foreign.Scheme+"://") || foreign.Scheme == providerid.Scheme || foreign.Scheme == "" {
				t.Errorf("%q is foreign of scheme %q", text, foreign.Scheme)
			}
		case strings.HasPrefix(text, "nico://") && text != "nico://":
			t.Errorf("%q is malformed instead of foreign", text)
		}
	})
}
