package sim_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/krake/sim"
)

func TestHeader_isReadAsIMDoes(t *testing.T) {
	t.Parallel()
	const passwd = "root:x:0:0"
	type fields = map[string]string
	for name, row := range map[string]struct {
		header string
		read   []fields
	}{
		"lines":             {`id = im;type = T;a = b\nid = os`, []fields{{"id": "im", "type": "T", "a": "b"}, {"id": "os"}}},
		"spaces":            {`  id = im ; a =  b  `, []fields{{"id": "im", "a": "b"}}},
		"comment":           {`# id = im\nid = os`, []fields{{"id": "os"}}},
		"semicolon":         {`id = im;password = a;b;more = c`, []fields{{"id": "im", "password": "a"}}}, // cut off, and all after it
		"semicolon, quoted": {`id = im;password = "a;b";more = 'c"'`, []fields{{"id": "im", "password": "a;b", "more": `c"`}}},
		"a quote":           {`id = im;password = it's;more = c`, []fields{{"id": "im"}}}, // one value with two "="
		"equals":            {`id = im;password = a = b;more = c`, []fields{{"id": "im"}}},
		"equals, no spaces": {`id = im;password = a=b`, []fields{{"id": "im", "password": "a=b"}}},
		"a file":            {`id = im;password = file(/etc/passwd)`, []fields{{"id": "im", "password": passwd}}},
		"no file":           {`id = im;password = file(/nothing)`, []fields{{"id": "im", "password": "file(/nothing)"}}},
		"newline in value":  {`id = im;password = a\\nb`, []fields{{"id": "im", "password": "a\nb"}}},
		"latin 1":           {"id = ä", []fields{{"id": "Ã¤"}}},

		"JSON":                      {`[{"id":"im","a":"b"},{"id":"os","n":7}]`, []fields{{"id": "im", "a": "b"}, {"id": "os", "n": "7"}}},
		"JSON interprets nothing":   {`[{"a":"x;y = z","b":"file(/etc/passwd)"}]`, []fields{{"a": "x;y = z", "b": "file(/etc/passwd)"}}},
		"JSON with its own newline": {`[{"id":"im","password":"a\nb"}]`, []fields{{}, {}}},      // split in two, neither of which is JSON
		"JSON with a backslash n":   {`[{"id":"im","password":"a\\nb"}]`, []fields{{}}},         // a newline in a text, which JSON can't have
		"a file by half a JSON":     {`["\nb = file(/etc/passwd)`, []fields{{}, {"b": passwd}}}, // what a password may do that isn't escaped
		"JSON in escapes":           {`[{"id":"im","password":"a\u005cnb\u000ac"}]`, []fields{{"id": "im", "password": "a\\nb\nc"}}},

		"basic":  {"Basic a3Jha2U6czNjcmV0", []fields{{"type": "InfrastructureManager", "username": "krake", "password": "s3cret"}}},
		"bearer": {"Bearer abc", []fields{{"type": "InfrastructureManager", "token": "abc"}}},
		"empty":  {"", nil},
	} {
		NewWithT(t).Expect(sim.ParseHeader(row.header, map[string]string{"/etc/passwd": passwd})).To(Equal(row.read), name)
	}
}

func TestLogin(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for header, status := range map[string]int{
			"":                   401,
			"nonsense":           401,
			dummy:                401, // a cloud, and no user
			krake:                200,
			"Basic a3Jha2U6cw==": 200,
			"Bearer abc":         401, // not of OpenID Connect
			"Bearer " + token:    200,
			`id = im;type = InfrastructureManager;username = krake`:                      401,
			`id = im;type = InfrastructureManager;username = krake;password = ;x`:        401, // an unquoted ";"
			`id = 1st;type = InfrastructureManager;username = krake;password = s3cret`:   500,
			krake + `\nid = a b;type = Dummy`:                                            500,
			`[{"id":"im","type":"InfrastructureManager","username":"a","password":"b"}]`: 200,
		} {
			b.Expect(b.as(header).get("/infrastructures").Status).To(Equal(status), header)
		}
		b.Expect(b.as("").get("/version")).To(HaveField("Text", ContainSubstring(`"version":"2.0.0"`)))
	})
}

// token of OpenID Connect whose issuer is https://iss and whose subject is me; another has its own ID.
const (
	token   = "e30.eyJpc3MiOiJodHRwczovL2lzcyIsInN1YiI6Im1lIn0.c2ln"
	another = "e30.eyJpc3MiOiJodHRwczovL2lzcyIsInN1YiI6Im1lIiwianRpIjoiMiJ9.c2ln"
	others  = "e30.eyJpc3MiOiJodHRwczovL2lzcyIsInN1YiI6InlvdSJ9.c2ln"
)

func TestLogin_withATokenIsOfItsHolder(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		id := b.as("Bearer " + token).create(single)
		for text, status := range map[string]int{token: 200, another: 200, others: 403} {
			b.Expect(b.as("Bearer " + text).get("/infrastructures/" + id + "/state").Status).To(Equal(status))
		}
	})
}

func TestLogin_ofUsersThatAreKnown(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.Expect(b.get("/infrastructures").Status).To(Equal(200))
		b.Expect(b.as(`type = InfrastructureManager;username = krake;password = other`).get("/infrastructures").Status).To(Equal(401))
		id := b.create(single)
		b.Expect(b.server.SetUser("krake", "other")).To(Succeed())
		b.Expect(b.get("/infrastructures").Status).To(Equal(401))
		changed := b.as(`type = InfrastructureManager;username = krake;password = other`)
		b.Expect(changed.get("/infrastructures").Status).To(Equal(200))
		b.Expect(changed.get("/infrastructures/" + id + "/state").Status).To(Equal(403))
	}, func(c *sim.Config) { c.Users = map[string]string{"krake": "s3cret"} })
}
