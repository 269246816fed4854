package provider_test

import (
	"testing"

	"github.com/bedplate/bedplate/internal/krake/webhook"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m, webhook.Options{}.SetupWithManager) }
