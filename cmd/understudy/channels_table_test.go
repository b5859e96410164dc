package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// channelIDs are the reported faults that testdata/channels.md answers for.
const channelIDs = `
	p001 p003 p005 p007 p011 p012 p013 p016 p017 p019 p021 p022 p023 p027 p028
	p029 p031 p032 p033 p035 p039 p041 p042 p043 p044 p045 p050 p052 p053 p054
	p055 p058 p059 p060 p062 p063 p066 p067 p068 p069 p072 p073 p074 p075 p076
	p079 p081 p083 p084 p085 p086 p088 p089 p090 p094 p096 p097 p099 p100 p102
	p104 p106 p108 p109 p112 p113 p116 p117 p118 p120 p122 p126 p128 p129 p131
	p132 p134 p135 p139 p140 p144 p145 p147 p148 p149 p150 p151 p152 p154 p156
	p157 p159 p160 p163 p165 p166 p167 p172 p173 p176 p179 p180 p181 p184 p186
	p188 p190 p192 p193 p194 p195 p198 p199
`

// Every report has one row, and every test that a row names is there.
func TestChannelsTable(t *testing.T) {
	var ids []string
	for _, cells := range tableRows(t, "testdata/channels.md", "p", 6) {
		id, outcome, tests, remark := cells[0], cells[3], cells[4], cells[5]
		ids = append(ids, id)
		if outcome != "passes" && (outcome != "in part" || remark == "") {
			t.Errorf("%s: the outcome %q with the remark %q", id, outcome, remark)
		}
		for _, test := range strings.Split(tests, "<br>") {
			checkNamedTest(t, id, test)
		}
	}
	if want := strings.Fields(channelIDs); !slices.Equal(ids, want) {
		t.Errorf("the table has %v, want %v", ids, want)
	}
}

// checkNamedTest looks for a test such as "TestCases/p001 in sessions/cases_test.go",
// which must bear the id of its report.
func checkNamedTest(t *testing.T, id, where string) {
	t.Helper()
	name, file, ok := strings.Cut(where, " in ")
	data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
	if !ok || err != nil {
		t.Errorf("%s: %q names no test: %v", id, where, err)
		return
	}
	top, sub, nested := strings.Cut(name, "/")
	start := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(top) + `\(t \*testing\.T\)`).FindIndex(data)
	if start == nil {
		t.Errorf("%s: %s has no test %s", id, file, top)
		return
	}
	body, _, _ := strings.Cut(string(data[start[1]:]), "\nfunc ")
	if nested && (sub != id || !strings.Contains(body, `"`+sub+`"`)) || !nested && !strings.EqualFold(top, "Test"+id) {
		t.Errorf("%s: %s is no test of it in %s", id, name, file)
	}
}
