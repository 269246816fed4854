package ignition_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	_ "embed" // for user data
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/boot/ignition"
)

const kubeadm = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\nnodeRegistration: {name: 'a, b+c%20?d#e'}\n"

// node is what Cluster API's kubeadm bootstrap provider v1.14.2 made for a worker with this JoinConfiguration.
//
//go:embed testdata/node.json
var node []byte

// serving serves a text below a URL with a signature.
func serving(t *testing.T, status int, text []byte) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "signature=secret%2F" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.WriteHeader(status)
		_, _ = w.Write(text)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/bucket/node?signature=secret%2F"
}

func TestParse_readsWhatKubeadmsBootstrapProviderMakesThroughAStub(t *testing.T) {
	t.Parallel()
	url := serving(t, http.StatusOK, node)
	for name, stub := range map[string]string{
		"2.3": `{"ignition":{"version":"2.3.0","config":{"append":[{"source":"%s"}]}}}`,
		"2.4": `{"ignition":{"version":"2.4.0","config":{"replace":{"source":"%s"}}}}`,
		"3.0": `{"ignition":{"version":"3.0.0","config":{"replace":{"source":"%s"}}}}`,
		"3.4": `{"ignition":{"version":"3.4.0","config":{"merge":[{"source":"%s"}]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			userData := fmt.Appendf(nil, stub, url)
			g.Expect(ignition.Is(userData)).To(BeTrue())
			config, err := ignition.Parse(t.Context(), userData)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(config.Files).To(HaveLen(2))
			g.Expect([]any{config.Files[0].Path, config.Files[0].Mode.String()}).To(Equal([]any{"/etc/kubeadm.sh", "-rwx------"}))
			g.Expect([]any{config.Files[1].Path, config.Files[1].Mode.String()}).To(Equal([]any{"/etc/kubeadm.yml", "-rw-------"}))
			g.Expect(string(config.Files[1].Content)).To(ContainSubstring(kubeadm))
			g.Expect(config.RunCommands).To(Equal([]string{string(config.Files[0].Content)}), "that the unit runs")
			g.Expect(config.RunCommands[0]).To(ContainSubstring("kubeadm join --config /etc/kubeadm.yml"))
		})
	}
}

func TestParse_readsFilesOfAllForms(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte("packed"))
	g.Expect(w.Close()).To(Succeed())
	sum := sha512.Sum512([]byte("checked"))
	config, err := ignition.Parse(t.Context(), fmt.Appendf(nil, `{"ignition":{"version":"3.1.0"},"storage":{"files":[
		{"path":"/a","mode":384,"contents":{"source":"data:text/plain;charset=utf-8,a%%20b?c"}},
		{"path":"/b","contents":{"source":"data:;base64,%s","compression":"gzip"}},
		{"path":"/c","contents":{"source":"data:,checked","verification":{"hash":"sha512-%s"}}},
		{"path":"/d"}]},
		"systemd":{"units":[
		{"name":"off.service","contents":"[Service]\nExecStart=/bin/bash /a\n"},
		{"name":"on.service","enabled":true,"contents":"[Service]\nExecStart=/usr/bin/kubeadm init\n"},
		{"name":"docker.service","enabled":true}]}}`,
		base64.StdEncoding.EncodeToString(packed.Bytes()), hex.EncodeToString(sum[:])))
	g.Expect(err).NotTo(HaveOccurred())
	var files []string
	for _, f := range config.Files {
		files = append(files, fmt.Sprintf("%s %o %s", f.Path, f.Mode, f.Content))
	}
	g.Expect(files).To(Equal([]string{"/a 600 a b?c", "/b 644 packed", "/c 644 checked", "/d 644 "}))
	g.Expect(config.RunCommands).To(Equal([]string{"/usr/bin/kubeadm init"}))
}

func TestParse_refusesWhatAMachineWould(t *testing.T) {
	t.Parallel()
	self := `{"ignition":{"version":"3.0.0","config":{"merge":[{"source":"%s"}]}}}`
	good := serving(t, http.StatusOK, node)
	var loop string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, self, loop) }))
	t.Cleanup(server.Close)
	loop = server.URL
	file := func(contents string) string {
		return `{"ignition":{"version":"2.3.0"},"storage":{"files":[{"path":"/a","contents":` + contents + `}]}}`
	}
	for name, row := range map[string]struct{ userData, says string }{
		"no signature":        {fmt.Sprintf(self, strings.Split(good, "?")[0]), "/bucket/node: the server answers 403"},
		"a wrong signature":   {fmt.Sprintf(self, good+"x"), "the server answers 403"},
		"another version":     {`{"ignition":{"version":"2.9.0"}}`, `version "2.9.0"`},
		"no configuration":    {fmt.Sprintf(self, serving(t, http.StatusOK, []byte("hello"))), "parse configuration"},
		"a circle":            {fmt.Sprintf(self, loop), "point to each other"},
		"another scheme":      {fmt.Sprintf(self, "s3://bucket/node"), `scheme "s3"`},
		"a changed file":      {file(`{"source":"data:,a","verification":{"hash":"sha512-00"}}`), "file /a: the content hasn't the hash"},
		"a wrong escape":      {file(`{"source":"data:,%zz"}`), "wrong escape"},
		"a data URL of words": {file(`{"source":"data:words"}`), "no comma"},
		"another compression": {file(`{"source":"data:,a","compression":"xz"}`), `compression "xz"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			_, err := ignition.Parse(t.Context(), []byte(row.userData))
			g.Expect(err).To(MatchError(And(ContainSubstring(row.says), Not(ContainSubstring("secret")))))
		})
	}
}

func TestIs_tellsIgnitionFromCloudInit(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(ignition.Is([]byte(`{"ignition":{"version":"3.0.0"}}`))).To(BeTrue())
	for _, other := range []string{"", "{}", "#cloud-config\n{}\n", `{"ignition":{}}`} {
		g.Expect(ignition.Is([]byte(other))).To(BeFalse(), other)
	}
}
