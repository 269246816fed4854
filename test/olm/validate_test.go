// Package olm has operator-framework's judgement of the bundles here.
package olm

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"
)

const folder = "../../config/dpf/bundle"

func TestBundle_isValid(t *testing.T) {
	g := NewWithT(t)
	bundle, err := manifests.GetBundleFromDir(folder)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bundle.CSV).NotTo(BeNil())
	g.Expect(bundle.V1CRDs).To(HaveLen(9))
	validators := validator.Validators{
		validation.ClusterServiceVersionValidator, validation.CustomResourceDefinitionValidator, validation.BundleValidator,
		validation.OperatorHubV2Validator, validation.StandardCapabilitiesValidator, validation.StandardCategoriesValidator,
		validation.GoodPracticesValidator, validation.AlphaDeprecatedAPIsValidator,
	}
	var problems []string
	for _, result := range validators.Validate(bundle.ObjectsToValidate()...) {
		for _, problem := range append(result.Errors, result.Warnings...) {
			problems = append(problems, problem.Error())
		}
	}
	var want []any                                                                                                // what it warns of
	for _, kind := range []string{"ServiceChain", "ServiceChainSet", "ServiceInterface", "ServiceInterfaceSet"} { // not written by hand
		want = append(want, HaveSuffix("Kind=%s: provided API should have an example annotation", kind))
	}
	g.Expect(problems).To(ConsistOf(append(want, HaveSuffix("csv.Spec.Icon not specified"))...))
}
