package constraints_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/krake/constraints"
)

func TestLabel_matches(t *testing.T) {
	t.Parallel()
	for text, row := range map[string]struct{ matches, doesNot string }{
		"location is DE":           {"DE", "IT"},
		"location = DE":            {"DE", "de"},
		"location == DE":           {"DE", ""},
		"location==DE":             {"DE", "IT"},
		" \tlocation  ==\tDE ":     {"DE", "IT"},
		"location is not DE":       {"IT", "DE"},
		"location != DE":           {"", "DE"},
		"location!=DE":             {"IT", "DE"},
		"location in (DE, SK)":     {"SK", "IT"},
		"location in(DE,SK)":       {"DE", "DE,SK"},
		"location in (DE,)":        {"DE", "SK"},
		"location in (DE,SK,,)":    {"SK", "IT"},
		"location not in (DE, SK)": {"IT", "SK"},
		"location is not":          {"not", "DE"},
		"location is not not":      {"DE", "not"},
		"location is is":           {"is", "DE"},
		"location = in":            {"in", "DE"},
		"location in (in, not)":    {"not", "DE"},
		"location is 1_a.b-c":      {"1_a.b-c", "1"},
	} {
		g := NewWithT(t)
		c, err := constraints.ParseLabel(text)
		g.Expect(err).NotTo(HaveOccurred(), text)
		g.Expect(c.Match(map[string]string{"location": row.matches, "other": row.doesNot})).To(BeTrue(), text)
		g.Expect(c.Match(map[string]string{"location": row.doesNot, "other": row.matches})).To(BeFalse(), text)
		g.Expect(c.Match(map[string]string{"other": row.matches})).To(BeFalse(), "%s: a missing label fails", text)
		g.Expect(c.Match(nil)).To(BeFalse(), text)
	}
}

func TestLabel_saysWhereItIsWrong(t *testing.T) {
	t.Parallel()
	const operators = "==, =, is, !=, is not, in (…) or not in (…)"
	for text, message := range map[string]string{
		"":                               "column 1: expected the key of a label, found the end",
		"= DE":                           `column 1: expected the key of a label, found "="`,
		"-a = DE":                        `column 1: expected the key of a label, found "-a": name part must consist of`,
		"location":                       "column 9: expected " + operators + ", found the end",
		"location DE":                    `column 10: expected ` + operators + `, found "DE"`,
		"location IS DE":                 `column 10: expected ` + operators + `, found "IS"`,
		"location ! DE":                  `column 10: expected ` + operators + `, found "!"`,
		"location < DE":                  `column 10: expected ` + operators + `, found "<"`,
		"location not (DE)":              `column 10: expected ` + operators + `, found "not"`,
		"location =":                     "column 11: expected a value, found the end",
		"location === DE":                `column 12: expected a value, found "="`,
		"location = ünknown":             `column 12: expected a value, found "ünknown": a valid label must be`,
		"läge = DE":                      `column 1: expected the key of a label, found "läge"`,
		"location is DE SK":              `column 16: expected the end, found "SK"`,
		"location is DE, SK":             `column 15: expected the end, found ","`,
		"location in DE":                 `column 13: expected "(", found "DE"`,
		"location in ()":                 `column 14: expected a value, found ")"`,
		"location in (,DE)":              `column 14: expected a value, found ","`,
		"location in (DE SK)":            `column 17: expected "," or ")", found "SK"`,
		"location in (DE":                `column 16: expected "," or ")", found the end`,
		"location in (DE,":               `column 17: expected a value, found the end`,
		"location in (DE))":              `column 17: expected the end, found ")"`,
		"location\nis DE":                `column 1: expected the key of a label, found "location\nis"`,
		"a = " + strings.Repeat("x", 64): "column 5: expected a value, found",
	} {
		_, err := constraints.ParseLabel(text)
		NewWithT(t).Expect(err).To(MatchError(HavePrefix(message)), text)
	}
}

func TestMetric_matches(t *testing.T) {
	t.Parallel()
	type values = []float64
	equal, notEqual := [2]values{{5}, {4.999, 5.001, -5}}, [2]values{{4.999, 5.001, -5}, {5}}
	greater, less := [2]values{{5.001, 100}, {5, 4}}, [2]values{{4.999, -100}, {5, 6}}
	atLeast, atMost := [2]values{{5, 5.001}, {4.999}}, [2]values{{5, 4.999}, {5.001}}
	for operator, row := range map[string][2]values{
		"==": equal, "=": equal, "is": equal, "!=": notEqual, "is not": notEqual,
		">": greater, "gt": greater, "greater than": greater, "is greater than": greater,
		">=": atLeast, "=>": atLeast, "gte": atLeast, "greater than or equal": atLeast, "greater than or equal to": atLeast,
		"is greater than or equal": atLeast, "is greater than or equal to": atLeast,
		"<": less, "lt": less, "less than": less, "lesser than": less, "is less than": less, "is lesser than": less,
		"<=": atMost, "=<": atMost, "lte": atMost, "less than or equal": atMost, "lesser than or equal": atMost,
		"less than or equal to": atMost, "lesser than or equal to": atMost, "is less than or equal to": atMost, "is lesser than or equal": atMost,
	} {
		for _, text := range []string{"load " + operator + " 5", "load " + operator + "\t5.0 "} {
			g := NewWithT(t)
			c, err := constraints.ParseMetric(text)
			g.Expect(err).NotTo(HaveOccurred(), text)
			for _, value := range row[0] {
				g.Expect(c.Match(map[string]float64{"load": value})).To(BeTrue(), "%s: %v", text, value)
			}
			for _, value := range row[1] {
				g.Expect(c.Match(map[string]float64{"load": value})).To(BeFalse(), "%s: %v", text, value)
			}
			g.Expect(c.Match(map[string]float64{"other": row[0][0]})).To(BeFalse(), "%s: a missing metric fails", text)
		}
	}
	for _, text := range []string{"load>-5", "load>=-5e0", "heat.zone-1 lt 1e3"} {
		_, err := constraints.ParseMetric(text)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), text)
	}
}

func TestMetric_saysWhereItIsWrong(t *testing.T) {
	t.Parallel()
	const metricOperators = "==, =, is, !=, is not, >, >=, < or <=, or one of these in words, such as gte or less than or equal"
	for text, message := range map[string]string{
		"":                        "column 1: expected the name of a metric, found the end",
		"Load > 5":                `column 1: expected the name of a metric, found "Load": a lowercase RFC 1123 subdomain`,
		"load":                    "column 5: expected " + metricOperators + ", found the end",
		"load equals 5":           `column 6: expected ==`,
		"load in (5)":             `column 6: expected ==`,
		"load >":                  "column 7: expected a number, found the end",
		"load > > 5":              `column 8: expected a number, found ">"`,
		"load > five":             `column 8: expected a number, found "five": such as 5 or -0.25`,
		"load > NaN":              `column 8: expected a number, found "NaN"`,
		"load > inf":              `column 8: expected a number, found "inf"`,
		"load > 1e999":            `column 8: expected a number, found "1e999"`,
		"load is greater than":    `column 9: expected a number, found "greater"`,
		"load is greater than or": `column 22: expected a number, found "or"`,
		"load > 5 6":              `column 10: expected the end, found "6"`,
	} {
		_, err := constraints.ParseMetric(text)
		NewWithT(t).Expect(err).To(MatchError(HavePrefix(message)), text)
	}
}

// What is read is written so that it is read as the same.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"location is not DE", "location not in (DE, SK,)", "a==b",
		"load is lesser than or equal to -1e-3", "load=>5", "((", "a in (", "ü\t!= \xff", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g := NewWithT(t)
		if label, err := constraints.ParseLabel(text); err == nil {
			g.Expect(constraints.ParseLabel(label.String())).To(Equal(label))
			g.Expect(label.Match(map[string]string{label.Key: label.Values[0]})).To(
				Equal(label.Operator == constraints.Equal || label.Operator == constraints.In))
		}
		if metric, err := constraints.ParseMetric(text); err == nil {
			g.Expect(constraints.ParseMetric(metric.String())).To(Equal(metric))
		}
	})
}
