// Package olm has operator-framework's judgement of the bundles here.
package olm

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	"github.com/operator-framework/api/pkg/validation/interfaces"
)

const folder = "../../config/dpf/bundle"

func TestBundle_isValid(t *testing.T) {
	g := NewWithT(t)
	bundle, err := manifests.GetBundleFromDir(folder)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bundle.CSV).NotTo(BeNil())
	g.Expect(bundle.V1CRDs).To(HaveLen(9))
	validators := interfaces.Validators{
		validation.ClusterServiceVersionValidator, validation.CustomResourceDefinitionValidator, validation.BundleValidator,
		validation.OperatorHubV2Validator, validation.StandardCapabilitiesValidator, validation.StandardCategoriesValidator,
		validation.GoodPracticesValidator, validation.AlphaDeprecatedAPIsValidator,
	}
	for _, result := range validators.Validate(bundle.ObjectsToValidate()...) {
		for _, problem := range append(result.Errors, result.Warnings...) {
			t.Errorf("%s: %s", result.Name, problem.Error())
		}
	}
}
