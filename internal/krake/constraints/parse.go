package constraints

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
)

// spelling is how an operator may be written, word by word.
type spelling struct {
	words    []string
	operator Operator
}

// Spellings, the longest first: "is" is the beginning of others.
var (
	labelSpellings  = longestFirst(equality, map[Operator][]string{In: {"in"}, NotIn: {"not in"}})
	metricSpellings = longestFirst(equality, map[Operator][]string{
		Greater:        {">", "gt", "greater than", "is greater than"},
		Less:           {"<", "lt", "less than", "lesser than", "is less than", "is lesser than"},
		GreaterOrEqual: append([]string{">=", "=>", "gte"}, orEqual("greater than", "is greater than")...),
		LessOrEqual:    append([]string{"<=", "=<", "lte"}, orEqual("less than", "lesser than", "is less than", "is lesser than")...),
	})
	equality = map[Operator][]string{Equal: {"==", "=", "is"}, NotEqual: {"!=", "is not"}}
)

func orEqual(words ...string) (more []string) {
	for _, w := range words {
		more = append(more, w+" or equal", w+" or equal to")
	}
	return more
}

func longestFirst(sets ...map[Operator][]string) (all []spelling) {
	for _, set := range sets {
		for operator, texts := range set {
			for _, text := range texts {
				all = append(all, spelling{strings.Fields(text), operator})
			}
		}
	}
	slices.SortFunc(all, func(a, b spelling) int { return len(b.words) - len(a.words) })
	return all
}

const (
	labelOperators  = "==, =, is, !=, is not, in (…) or not in (…)"
	metricOperators = "==, =, is, !=, is not, >, >=, < or <=, or one of these in words, such as gte or less than or equal"
)

// ParseLabel reads a constraint on a label. The error says where it isn't one, and what is expected there.
func ParseLabel(text string) (Label, error) {
	p := parser{scan(text)}
	key, err := p.word("the key of a label", validation.IsQualifiedName)
	if err != nil {
		return Label{}, err
	}
	operator, err := p.operator(labelSpellings, labelOperators)
	if err != nil {
		return Label{}, err
	}
	l := Label{Key: key, Operator: operator}
	if operator == In || operator == NotIn {
		l.Values, err = p.list()
	} else {
		l.Values = make([]string, 1)
		l.Values[0], err = p.value()
	}
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return Label{}, err
	}
	return l, nil
}

// ParseMetric reads a constraint on a metric. The error says where it isn't one, and what is expected there.
func ParseMetric(text string) (Metric, error) {
	p := parser{scan(text)}
	name, err := p.word("the name of a metric", validation.IsDNS1123Subdomain)
	if err != nil {
		return Metric{}, err
	}
	operator, err := p.operator(metricSpellings, metricOperators)
	if err != nil {
		return Metric{}, err
	}
	number, err := p.word("a number", notFinite)
	if err != nil {
		return Metric{}, err
	}
	value, _ := strconv.ParseFloat(number, 64) // checked
	if err := p.end(); err != nil {
		return Metric{}, err
	}
	return Metric{Name: name, Operator: operator, Value: value}, nil
}

// token is a word or a sign. That of the end has no text.
type token struct {
	text   string
	column int // of its first character, from 1
}

const (
	blanks = " \t"
	signs  = "(),=!<>"
)

func scan(text string) (tokens []token) {
	column := 1
	for text != "" {
		length := strings.IndexAny(text, blanks+signs)
		switch {
		case length < 0:
			length = len(text)
		case length == 0 && len(text) > 1 && slices.Contains([]string{"==", "!=", ">=", "=>", "<=", "=<"}, text[:2]):
			length = 2
		case length == 0:
			length = 1
		}
		if !strings.Contains(blanks, text[:length]) {
			tokens = append(tokens, token{text[:length], column})
		}
		column += utf8.RuneCountInString(text[:length])
		text = text[length:]
	}
	return append(tokens, token{"", column})
}

// parser of what is left of a constraint. The last token is that of the end, and stays.
type parser struct{ tokens []token }

// expected is the error of the next token.
func (p *parser) expected(what string) error {
	found := "the end"
	if next := p.tokens[0]; next.text != "" {
		found = strconv.Quote(next.text)
	}
	return fmt.Errorf("column %d: expected %s, found %s", p.tokens[0].column, what, found)
}

// accept a sign, if it is the next token.
func (p *parser) accept(sign string) bool {
	if p.tokens[0].text != sign {
		return false
	}
	p.tokens = p.tokens[1:]
	return true
}

// word is the next token, of which problems says what is wrong with it.
func (p *parser) word(what string, problems func(string) []string) (string, error) {
	text := p.tokens[0].text
	if text == "" || strings.ContainsAny(text, signs) {
		return "", p.expected(what)
	}
	if wrong := problems(text); len(wrong) > 0 {
		return "", fmt.Errorf("%w: %s", p.expected(what), strings.Join(wrong, "; "))
	}
	p.tokens = p.tokens[1:]
	return text, nil
}

func (p *parser) value() (string, error) { return p.word("a value", validation.IsValidLabelValue) }

// operator of several words is one only if something follows it: in "a is not" the value is "not".
func (p *parser) operator(spellings []spelling, what string) (Operator, error) {
	for _, s := range spellings {
		n := len(s.words)
		if n >= len(p.tokens) || n > 1 && p.tokens[n].text == "" {
			continue
		}
		if slices.EqualFunc(s.words, p.tokens[:n], func(word string, t token) bool { return word == t.text }) {
			p.tokens = p.tokens[n:]
			return s.operator, nil
		}
	}
	return "", p.expected(what)
}

// list in parentheses, whose last value commas may follow.
func (p *parser) list() (values []string, _ error) {
	if !p.accept("(") {
		return nil, p.expected(`"("`)
	}
	for {
		value, err := p.value()
		if err != nil {
			return nil, err
		}
		values = append(values, value)
		comma := false
		for p.accept(",") {
			comma = true
		}
		switch {
		case p.accept(")"):
			return values, nil
		case !comma:
			return nil, p.expected(`"," or ")"`)
		}
	}
}

func (p *parser) end() error {
	if p.tokens[0].text != "" {
		return p.expected("the end")
	}
	return nil
}

func notFinite(text string) []string {
	if value, err := strconv.ParseFloat(text, 64); err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
		return []string{"such as 5 or -0.25"}
	}
	return nil
}
