package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
)

// AuditLog is the name of the file in the control plane's folder: one event of audit.k8s.io/v1 in each line, oldest first.
const AuditLog = "audit.log"

const auditPolicyFile = "audit-policy.yaml"

// auditPolicy is of writes by service accounts but Kubernetes' own. No Secret gets into the log, and nothing that is written all the time.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
omitManagedFields: true
rules:
  - level: None
    verbs: [get, list, watch]
  - level: None
    userGroups: [system:serviceaccounts:kube-system]
  - level: None
    resources:
      - group: coordination.k8s.io
      - group: events.k8s.io
      - {group: "", resources: [events]}
      - group: authentication.k8s.io
      - group: authorization.k8s.io
  - level: Metadata
    userGroups: [system:serviceaccounts]
    resources: [{group: "", resources: [secrets, serviceaccounts/token]}]
  - level: Request
    userGroups: [system:serviceaccounts]
`

func writeAuditPolicy(c Config) error {
	if !c.Audit {
		return nil
	}
	err := os.MkdirAll(c.Dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(c.Dir, auditPolicyFile), []byte(auditPolicy), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the audit policy: %w", err)
	}
	return nil
}

// auditFlags keep the log below 200 MB.
func auditFlags(c Config) []string {
	if !c.Audit {
		return nil
	}
	return []string{
		"--audit-policy-file=" + filepath.Join(c.Dir, auditPolicyFile),
		"--audit-log-path=" + filepath.Join(c.Dir, AuditLog),
		"--audit-log-maxsize=100", "--audit-log-maxbackup=1",
	}
}
