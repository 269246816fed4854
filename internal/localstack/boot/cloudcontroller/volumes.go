package cloudcontroller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mount is a ConfigMap or a Secret where the container sees it.
type mount struct {
	path   string // in the container
	dir    string // where that really is
	volume corev1.Volume
}

// mountsOf are the files of the pod's only container that the cluster brings.
func mountsOf(pod *corev1.PodSpec, dir string) (mounts []mount) {
	for _, volume := range pod.Volumes {
		if volume.ConfigMap == nil && volume.Secret == nil {
			continue
		}
		for _, m := range pod.Containers[0].VolumeMounts {
			if m.Name == volume.Name {
				mounts = append(mounts, mount{path: m.MountPath, dir: filepath.Join(dir, volume.Name), volume: volume})
			}
		}
	}
	return mounts
}

// mount writes the files of all mounts as they are now. A pod doesn't start without them.
func (c *controller) mount(ctx context.Context, mounts []mount) error {
	inPlace := replacer(mounts)
	for _, m := range mounts {
		files, err := c.files(ctx, m.volume, inPlace)
		if err != nil {
			return fmt.Errorf("volume %s: %w", m.volume.Name, err)
		}
		if err := project(m.dir, files); err != nil {
			return fmt.Errorf("volume %s: %w", m.volume.Name, err)
		}
	}
	return nil
}

// files are those of a ConfigMap, in which paths of the container are made real, or those of a Secret as they are.
func (c *controller) files(ctx context.Context, volume corev1.Volume, inPlace *strings.Replacer) (map[string][]byte, error) {
	if volume.Secret != nil {
		secret, err := c.config.Client.CoreV1().Secrets(metav1.NamespaceSystem).Get(ctx, volume.Secret.SecretName, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return secret.Data, nil
	}
	configMap, err := c.config.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, volume.ConfigMap.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, content := range configMap.Data {
		files[name] = []byte(inPlace.Replace(content))
	}
	return files, nil
}

// What a kubelet calls the link to the folder with the files, and the link while it is made.
const (
	dataLink = "..data"
	newLink  = "..data_tmp"
)

// project lays files into a folder as a kubelet does: the link ..data leads to the folder that has them, so that all of them
// change at once.
func project(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	data := filepath.Join(dir, dataLink)
	if current(data, files) {
		return nil
	}
	before, _ := os.Readlink(data) // none at first
	next, err := os.MkdirTemp(dir, "..")
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(next, name), content, 0o600); err != nil {
			return err
		}
	}
	link := filepath.Join(dir, newLink)
	if err := os.Symlink(filepath.Base(next), link); err != nil {
		return err
	}
	if err := os.Rename(link, data); err != nil {
		return err
	}
	if err := linkAll(dir, files); err != nil || before == "" {
		return err
	}
	return os.RemoveAll(filepath.Join(dir, before))
}

// current reports whether a folder has these files and no others.
func current(data string, files map[string][]byte) bool {
	entries, err := os.ReadDir(data)
	if err != nil || len(entries) != len(files) {
		return false
	}
	for name, content := range files {
		if is, err := os.ReadFile(filepath.Join(data, name)); err != nil || !bytes.Equal(is, content) {
			return false
		}
	}
	return true
}

// linkAll leaves a link for each file, and for nothing else.
func linkAll(dir string, files map[string][]byte) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if _, wanted := files[entry.Name()]; !wanted && !strings.HasPrefix(entry.Name(), "..") {
			err = errors.Join(err, os.Remove(filepath.Join(dir, entry.Name())))
		}
	}
	for name := range files {
		link := os.Symlink(filepath.Join(dataLink, name), filepath.Join(dir, name))
		if link != nil && !errors.Is(link, os.ErrExist) {
			err = errors.Join(err, link)
		}
	}
	return err
}
