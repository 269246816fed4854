package cloudprovider

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/fault"
)

// dataLink leads to the files of a mounted Secret. The kubelet replaces it, so that all files change at once.
const dataLink = "..data"

// folder reads a folder as the Secret that is mounted there: no right to read Secrets is needed, and what the kubelet has
// rewritten counts from the next read on. The namespace of the Secret is the path of the folder above.
type folder struct{}

// Get the Secret.
func (folder) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return fmt.Errorf("a folder is no %T", object)
	}
	path := filepath.Join(key.Namespace, key.Name)
	data, err := read(path)
	if errors.Is(err, os.ErrNotExist) { // the kubelet may have replaced them while they were read
		data, err = read(path)
	}
	if err != nil {
		if _, missing := os.Stat(path); errors.Is(missing, os.ErrNotExist) {
			return apierrors.NewNotFound(corev1.Resource("secrets"), key.String())
		}
		return &fault.Error{Class: fault.Credentials, Op: "read the login", Err: err}
	}
	secret.Namespace, secret.Name, secret.Data = key.Namespace, key.Name, data
	return nil
}

// read all files of a folder: a partly read login is unusable.
func read(path string) (map[string][]byte, error) {
	path, err := filesOf(path)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	for _, entry := range entries {
		if entry.IsDir() || strings.HasPrefix(entry.Name(), "..") {
			continue
		}
		if data[entry.Name()], err = os.ReadFile(filepath.Join(path, entry.Name())); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// filesOf is where the files of a folder are. The link is followed once for all of them, so that they are of one version.
func filesOf(path string) (string, error) {
	data := filepath.Join(path, dataLink)
	if _, err := os.Lstat(data); err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		_, err := os.Stat(path)
		return path, err
	}
	return filepath.EvalSymlinks(data)
}
