package mirror

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// enum pairs the numbers of a message's enum with the words of a struct's: HOST_ACCESS_FABRIC_ACCESS with FabricAccess.
// Unspecified is the empty word. A word that the enum doesn't know is unspecified.
type enum struct {
	numbers map[string]protoreflect.EnumNumber
	words   map[protoreflect.EnumNumber]string
}

func newEnum(d protoreflect.EnumDescriptor, words []string) (*enum, error) {
	prefix, found := strings.CutSuffix(string(d.Values().ByNumber(0).Name()), "UNSPECIFIED")
	if !found {
		return nil, fmt.Errorf("%s: 0 isn't UNSPECIFIED", d.FullName())
	}
	spelled := map[string]string{"unspecified": ""}
	for _, word := range words {
		spelled[plain(word)] = word
	}
	e := &enum{map[string]protoreflect.EnumNumber{}, map[protoreflect.EnumNumber]string{}}
	for i := range d.Values().Len() {
		value := d.Values().Get(i)
		word, found := spelled[plain(strings.TrimPrefix(string(value.Name()), prefix))]
		if !found {
			return nil, fmt.Errorf("%s is none of the words of the kinds", value.FullName())
		}
		e.numbers[word], e.words[value.Number()] = value.Number(), word
	}
	return e, nil
}
