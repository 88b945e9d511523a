package workspace

import (
	"reflect"
	"testing"
)

func TestStretches(t *testing.T) {
	got := merged([]stretch{{10, 20}, {0, 5}, {20, 25}, {12, 15}, {4, 6}, {40, 40}})
	want := []stretch{{0, 6}, {10, 25}, {40, 40}}
	if !reflect.DeepEqual(got, want) {
		t.Fatal(got)
	}
	for offset, begin := range map[int64]int64{0: 0, 5: 0, 9: 0, 10: 10, 24: 10, 99: 40} {
		if found := near(want, offset); len(found) != 1 || found[0].offset != begin {
			t.Fatalf("%d: %v", offset, found)
		}
	}
	if len(near(want[1:], 3)) != 0 {
		t.Fatal("found one before the first")
	}
}

func TestPairs(t *testing.T) {
	var seen []string
	a := []node{{name: "a"}, {name: "c"}, {name: "d"}}
	b := []node{{name: "b"}, {name: "c"}, {name: "e"}}
	_ = pairs(a, b, func(left, right *node) error {
		side := "both "
		if left == nil {
			side = "right "
		} else if right == nil {
			side = "left "
		}
		seen = append(seen, side+either(left, right).name)
		return nil
	})
	if want := []string{"left a", "right b", "both c", "left d", "right e"}; !reflect.DeepEqual(seen, want) {
		t.Fatal(seen)
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"", ".", "..", "../a", "a/b", "-a", ".a", "a\n", "ä", "a\x00"} {
		if checkName(name) == nil {
			t.Errorf("%q is taken as a name", name)
		}
	}
	for _, name := range []string{"a", "A-1_b.c", "0x"} {
		if err := checkName(name); err != nil {
			t.Error(err)
		}
	}
}
