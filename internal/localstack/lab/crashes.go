package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// crashesName is the file that lists children that crashed after the lab was up.
const crashesName = "crashes.log"

func noteCrash(dir string, crash error) error {
	file, err := os.OpenFile(filepath.Join(dir, crashesName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = fmt.Fprintf(file, "%s %s\n", time.Now().Format(time.TimeOnly), crash)
	return err
}

// Crashes lists the children of a running lab that crashed, each with the end of its log; "" if none has.
func Crashes(dir string) string {
	data, err := os.ReadFile(filepath.Join(dir, crashesName))
	if err != nil {
		return ""
	}
	return string(data)
}
