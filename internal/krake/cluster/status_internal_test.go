package cluster

import (
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/im"
)

// is a condition in short: its status and its reason, both of which may be empty.
type is struct {
	status metav1.ConditionStatus
	reason string
}

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown
)

func TestStateOf(t *testing.T) {
	t.Parallel()
	ready, waits, down := is{yes, "Ready"}, is{no, "Waiting"}, is{unknown, "Transient"}
	noLogin, repairs := is{unknown, "Credentials"}, is{no, "Repairing"}
	const none krakev1.ReasonCode = ""
	const (
		connecting  = krakev1.StateConnecting
		creating    = krakev1.StateCreating
		degraded    = krakev1.StateDegraded
		deleting    = krakev1.StateDeleting
		failed      = krakev1.StateFailed
		failing     = krakev1.StateFailingReconciliation
		notReady    = krakev1.StateNotReady
		offline     = krakev1.StateOffline
		online      = krakev1.StateOnline
		pending     = krakev1.StatePending
		reconciling = krakev1.StateReconciling
		unhealthy   = krakev1.StateUnhealthy

		createFailed                         = krakev1.ReasonCreateFailed
		deleteFailed                         = krakev1.ReasonDeleteFailed
		invalidResource                      = krakev1.ReasonInvalidResource
		notFound                             = krakev1.ReasonNotFound
		reconcileFailed                      = krakev1.ReasonReconcileFailed
		reconfigureFailed                    = krakev1.ReasonReconfigureFailed
		retrieveFailed                       = krakev1.ReasonRetrieveFailed
		seen              krakev1.ReasonCode = "OBSERVED"
	)
	for name, row := range map[string]struct {
		// exists: it has an infrastructure; made: it was made before, and has a kubeconfig, too.
		exists, made, deleted bool
		before                krakev1.ClusterState

		// is of the template, the infrastructure and the kubeconfig.
		is [3]is

		state  krakev1.ClusterState
		reason krakev1.ReasonCode
	}{
		"nothing is known":             {state: pending},
		"its turn is to come":          {before: pending, is: [3]is{ready, {no, "Queued"}}, state: pending},
		"the quota is exhausted":       {is: [3]is{ready, {no, "Quota"}}, state: pending, reason: createFailed},
		"the manager is down":          {before: pending, is: [3]is{down, waits}, state: pending, reason: createFailed},
		"down, before the lookup":      {before: pending, is: [3]is{ready, down}, state: pending, reason: createFailed},
		"it has gone":                  {made: true, is: [3]is{ready, {no, "StayingAway"}}, state: pending, reason: notFound},
		"it is asked for":              {before: pending, is: [3]is{ready, {no, "Creating"}}, state: creating},
		"no answer yet":                {before: creating, is: [3]is{ready, {no, "Settling"}}, state: creating},
		"it is being made":             {exists: true, is: [3]is{ready, waits, waits}, state: creating},
		"the kubeconfig isn't there":   {exists: true, is: [3]is{ready, ready, {no, "Busy"}}, state: creating},
		"the kubeconfig can't be read": {exists: true, is: [3]is{ready, ready, down}, state: creating, reason: retrieveFailed},
		"the kubeconfig, of late":      {made: true, before: online, is: [3]is{ready, ready, down}, state: online, reason: seen},
		"it is watched to stay away":   {made: true, deleted: true, is: [3]is{ready, {no, "StayingAway"}}, state: deleting},
		"it is being changed":          {made: true, before: online, is: [3]is{ready, {no, "Changing"}, waits}, state: reconciling},
		"a change isn't answered":      {made: true, before: online, is: [3]is{ready, {no, "Busy"}, waits}, state: reconciling},
		"it is reconfigured, new":      {exists: true, is: [3]is{ready, repairs}, state: failing, reason: createFailed},
		"it is reconfigured":           {made: true, before: online, is: [3]is{ready, repairs}, state: failing, reason: reconcileFailed},
		"it can't be repaired":         {made: true, is: [3]is{ready, {no, "Failed"}}, state: failed, reason: reconfigureFailed},
		"the template is wrong":        {is: [3]is{{no, "Invalid"}, waits}, state: failed, reason: invalidResource},
		"the login is wrong":           {is: [3]is{noLogin, waits}, state: failed, reason: createFailed},
		"the login is wrong now":       {made: true, before: online, is: [3]is{ready, noLogin}, state: failed, reason: reconcileFailed},
		"it was refused":               {is: [3]is{ready, {no, "Invalid"}}, state: failed, reason: createFailed},
		"another one's":                {exists: true, is: [3]is{ready, {no, "ForeignTag"}}, state: failed, reason: createFailed},
		"the kubeconfig is wrong":      {exists: true, is: [3]is{ready, ready, {no, "Invalid"}}, state: failed, reason: retrieveFailed},
		"its Secret is someone's":      {exists: true, is: [3]is{ready, ready, {no, "Conflict"}}, state: failed, reason: retrieveFailed},
		"corrected, but down":          {before: failed, is: [3]is{down, waits}, state: pending, reason: createFailed},
		"corrected, made, and down":    {made: true, before: failed, is: [3]is{ready, down}, state: reconciling, reason: reconcileFailed},
		"all is there":                 {exists: true, before: creating, is: [3]is{ready, ready, ready}, state: connecting},
		"all is there again":           {made: true, before: reconciling, is: [3]is{ready, ready, ready}, state: connecting},
		"ONLINE":                       {made: true, before: online, is: [3]is{ready, ready, ready}, state: online, reason: seen},
		"NOTREADY":                     {made: true, before: notReady, is: [3]is{ready, ready, ready}, state: notReady, reason: seen},
		"UNHEALTHY":                    {made: true, before: unhealthy, is: [3]is{ready, ready, ready}, state: unhealthy, reason: seen},
		"DEGRADED":                     {made: true, before: degraded, is: [3]is{ready, ready, ready}, state: degraded, reason: seen},
		"OFFLINE":                      {made: true, before: offline, is: [3]is{ready, ready, ready}, state: offline, reason: seen},
		"ONLINE, and the manager down": {made: true, before: online, is: [3]is{ready, down, waits}, state: online, reason: reconcileFailed},
		"being deleted":                {deleted: true, exists: true, before: online, is: [3]is{ready, {no, "Deleting"}}, state: deleting},
		"deleted while being created":  {deleted: true, exists: true, is: [3]is{ready, {no, "Busy"}}, state: deleting},
		"deleted, and may come back":   {deleted: true, is: [3]is{ready, {no, "Waiting"}}, state: deleting},
		"deleted, without a provider":  {deleted: true, exists: true, is: [3]is{{}, {no, "Invalid"}}, state: deleting, reason: deleteFailed},
		"deleted, and down":            {deleted: true, exists: true, is: [3]is{{}, down}, state: deleting, reason: deleteFailed},
	} {
		c := &krakev1.Cluster{Status: krakev1.ClusterStatus{State: row.before, Reason: &krakev1.Reason{Code: seen}}}
		if row.exists || row.made {
			c.Status.ClusterID = "infrastructure"
		}
		if row.made {
			c.Spec.Kubeconfig = &krakev1.Kubeconfig{}
		}
		if row.deleted {
			c.DeletionTimestamp = new(metav1.Now())
		}
		for i, kind := range []string{
			krakev1.TemplateValidCondition, krakev1.InfrastructureReadyCondition, krakev1.KubeconfigReadyCondition,
		} {
			if is := row.is[i]; is.status != "" {
				c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: kind, Status: is.status, Reason: is.reason, Message: kind})
			}
		}
		g := NewWithT(t)
		state, reason := stateOf(c)
		g.Expect(state).To(Equal(row.state), name)
		if row.reason == none {
			g.Expect(reason).To(BeNil(), name)
			continue
		}
		g.Expect(reason).To(HaveValue(HaveField("Code", row.reason)), name)
	}
}

func TestVMs_areBoundedWithThoseFirstThatAreNotWell(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := map[string]im.State{"7": im.Failed, "12": im.Running, "5000": im.Off, strings.Repeat("9", 65): im.Failed}
	for i := range 200 {
		if id := strconv.Itoa(i); all[id] == "" {
			all[id] = im.Configured
		}
	}
	shown := vmsOf(all)
	g.Expect(shown).To(HaveLen(100))
	g.Expect(shown[:5]).To(HaveExactElements(
		krakev1.VMStatus{ID: "7", State: "failed"}, krakev1.VMStatus{ID: "12", State: "running"}, krakev1.VMStatus{ID: "5000", State: "off"},
		krakev1.VMStatus{ID: "0", State: "configured"}, krakev1.VMStatus{ID: "1", State: "configured"},
	))
	g.Expect(vmsOf(nil)).To(BeNil())
}
