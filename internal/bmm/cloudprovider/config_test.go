package cloudprovider

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest/cloudtest"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

func TestReadConfig_isStrict(t *testing.T) {
	t.Parallel()
	read := func(text string) (Config, error) {
		file := filepath.Join(t.TempDir(), "cloud.yaml")
		NewWithT(t).Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
		return ReadConfig(file)
	}
	g := NewWithT(t)
	config, err := read("site: {id: " + sim.DefaultSiteID + "}\ncredentials: /etc/bmm/credentials\ninterval: 1m\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Interval.Duration).To(Equal(time.Minute))
	g.Expect(config.secret().String()).To(Equal("/etc/bmm/credentials"))
	config, err = read("site: {name: site-1}\ncredentials: /etc/bmm/credentials\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Interval.Duration).To(Equal(30 * time.Second))

	config, err = read("published: true\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config).To(And(HaveField("Published", true), HaveField("Credentials", "")))

	const valid = "credentials: /x\nsite: {name: a}\n"
	for text, says := range map[string]string{
		valid + "intervall: 30s":                  `"intervall"`,
		"credentials: /x\nsite: {name: a, Id: b}": "either an id or a name",
		"credentials: /x\nsite: {zone: a}":        `"zone"`,
		"credentials: /x\nsite: {id: a, name: b}": "either an id or a name",
		"credentials: /x":                         "either an id or a name",
		"credentials: /x\nsite: {id: 517E0000}":   "is not a UUID",
		"credentials: x\nsite: {name: a}":         "absolute path",
		"site: {name: a}":                         "absolute path",
		valid + "interval: 10ms":                  "at least 1s",
		valid + "interval: soon":                  "invalid duration",
		valid + "site: {name: b}":                 "already set",
		valid + "published: true":                 "there is no site and there are no credentials",
		"published: true\nsite: {name: a}":        "there is no site and there are no credentials",
		"published: false":                        "either an id or a name",
		"- a":                                     "cannot unmarshal array",
	} {
		_, err := read(text)
		g.Expect(err).To(MatchError(And(ContainSubstring("cloud.yaml"), ContainSubstring(says))), text)
	}
	_, err = ReadConfig("")
	g.Expect(err).To(MatchError(ContainSubstring("--cloud-config")))
	_, err = ReadConfig("/nowhere/cloud.yaml")
	g.Expect(err).To(MatchError(os.ErrNotExist))
}

func TestFolder_isReadAsTheKubeletWritesIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "credentials")
	read := func() (map[string][]byte, error) {
		secret := &corev1.Secret{}
		err := folder{}.Get(t.Context(), types.NamespacedName{Namespace: filepath.Dir(path), Name: filepath.Base(path)}, secret)
		return secret.Data, err
	}
	_, err := read()
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue())

	cloudtest.Mount(t, path, map[string]string{"endpoint": "here", "token": "old"})
	g.Expect(read()).To(Equal(map[string][]byte{"endpoint": []byte("here"), "token": []byte("old")}))
	cloudtest.Mount(t, path, map[string]string{"endpoint": "there", "token": "new"})
	g.Expect(read()).To(Equal(map[string][]byte{"endpoint": []byte("there"), "token": []byte("new")}))

	// What was written beside the link doesn't count; what can't be read is no reason to do with less.
	g.Expect(os.WriteFile(filepath.Join(path, "apiName"), []byte("nico"), 0o600)).To(Succeed())
	g.Expect(read()).NotTo(HaveKey("apiName"))
	g.Expect(os.Symlink("nowhere", filepath.Join(path, "..data", "ca.crt"))).To(Succeed())
	_, err = read()
	g.Expect(err).To(HaveOccurred())

	path = t.TempDir() // not the kubelet's
	g.Expect(os.WriteFile(filepath.Join(path, "token"), []byte("plain"), 0o600)).To(Succeed())
	g.Expect(os.Mkdir(filepath.Join(path, "folder"), 0o700)).To(Succeed())
	g.Expect(read()).To(Equal(map[string][]byte{"token": []byte("plain")}))
}
