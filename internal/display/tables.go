package display

import "unicode"

// isVisible reports whether r leaves a mark of its own where it stands: a
// letter, mark, number, punctuation or symbol that is not blank, or a plain
// space.
func isVisible(r rune) bool {
	return unicode.IsPrint(r) && !unicode.In(r,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, blank)
}

// blank holds characters of the visible categories that no font draws.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x17b4, Hi: 0x17b5, Stride: 1}, // Khmer inherent vowels
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // braille pattern blank
	},
	R32: []unicode.Range32{
		{Lo: 0x16fe4, Hi: 0x16fe4, Stride: 1}, // Khitan filler
		{Lo: 0x1d159, Hi: 0x1d159, Stride: 1}, // musical null notehead
	},
}

// lookAlikes are letters of other scripts that most fonts draw like a letter
// of ASCII.
var lookAlikes = func() map[rune]bool {
	set := map[rune]bool{}
	for _, r := range "" +
		"АВЕКМНОРСТУХЅІЈԌԜЬаеорсухѕіјһԁԛԝѵӏԍ" + // Cyrillic
		"ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳορνικυϲ" + // Greek
		"ՍՏՕհոսօգ" + // Armenian
		"ɑɡɩʏ\u017f\u212a" { // IPA, long s, Kelvin sign
		set[r] = true
	}
	return set
}()

func isLookAlike(r rune) bool {
	fullwidth := r >= 0xff21 && r <= 0xff5a
	return fullwidth || lookAlikes[r]
}

// columns returns how many columns a terminal gives to a visible character.
func columns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// wide are the blocks that terminals draw two columns wide.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1}, // Hangul initials
		{Lo: 0x231a, Hi: 0x231b, Stride: 1}, // watch, hourglass
		{Lo: 0x2614, Hi: 0x2615, Stride: 1}, // umbrella, hot beverage
		{Lo: 0x26a1, Hi: 0x26a1, Stride: 1}, // high voltage
		{Lo: 0x2705, Hi: 0x2705, Stride: 1}, // check mark
		{Lo: 0x274c, Hi: 0x274c, Stride: 1}, // cross mark
		{Lo: 0x2e80, Hi: 0x303e, Stride: 1}, // CJK radicals, punctuation
		{Lo: 0x3041, Hi: 0x4dbf, Stride: 1}, // kana to extension A
		{Lo: 0x4e00, Hi: 0xa4cf, Stride: 1}, // unified ideographs, Yi
		{Lo: 0xa960, Hi: 0xa97c, Stride: 1}, // Hangul extended A
		{Lo: 0xac00, Hi: 0xd7a3, Stride: 1}, // Hangul syllables
		{Lo: 0xf900, Hi: 0xfaff, Stride: 1}, // compatibility ideographs
		{Lo: 0xfe30, Hi: 0xfe6f, Stride: 1}, // compatibility forms
		{Lo: 0xff01, Hi: 0xff60, Stride: 1}, // fullwidth forms
		{Lo: 0xffe0, Hi: 0xffe6, Stride: 1}, // fullwidth signs
	},
	R32: []unicode.Range32{
		{Lo: 0x16fe0, Hi: 0x18cff, Stride: 1}, // Tangut
		{Lo: 0x1b000, Hi: 0x1b2ff, Stride: 1}, // kana supplement
		{Lo: 0x1f004, Hi: 0x1f004, Stride: 1}, // mahjong tile
		{Lo: 0x1f200, Hi: 0x1f64f, Stride: 1}, // enclosed ideographs, emoji
		{Lo: 0x1f680, Hi: 0x1f6ff, Stride: 1}, // transport
		{Lo: 0x1f900, Hi: 0x1faff, Stride: 1}, // supplemental emoji
		{Lo: 0x20000, Hi: 0x3fffd, Stride: 1}, // further ideographs
	},
}
