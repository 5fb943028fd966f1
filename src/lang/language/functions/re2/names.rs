//! Sets of characters that have a name in RE2.

/// Sets of ASCII characters by the letter of their escape. `\s` leaves out the vertical tab.
pub(super) const PERL: &[(char, &[(u32, u32)])] = &[
    ('d', &[(0x30, 0x39)]),
    ('s', &[(0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20)]),
    ('w', &[(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]),
];

/// Sets of POSIX by name, all ASCII.
pub(super) const POSIX: &[(&str, &[(u32, u32)])] = &[
    ("alnum", &[(0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)]),
    ("alpha", &[(0x41, 0x5A), (0x61, 0x7A)]),
    ("ascii", &[(0x00, 0x7F)]),
    ("blank", &[(0x09, 0x09), (0x20, 0x20)]),
    ("cntrl", &[(0x00, 0x1F), (0x7F, 0x7F)]),
    ("digit", &[(0x30, 0x39)]),
    ("graph", &[(0x21, 0x7E)]),
    ("lower", &[(0x61, 0x7A)]),
    ("print", &[(0x20, 0x7E)]),
    ("punct", &[(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)]),
    ("space", &[(0x09, 0x0D), (0x20, 0x20)]),
    ("upper", &[(0x41, 0x5A)]),
    ("word", &[(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]),
    ("xdigit", &[(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)]),
];

/// A set of Unicode.
pub(super) enum Unicode {
    /// These characters.
    Ranges(&'static [(u32, u32)]),
    /// All but the unassigned ones.
    Assigned,
    /// A general category.
    Category(&'static str),
    /// A script.
    Script(&'static str),
}

/// The set of a name, of which only the letters count: `Lu`, `uppercase letter`, `Greek`.
pub(super) fn unicode(name: &str) -> Option<Unicode> {
    let plain = letters(name);
    match plain.as_str() {
        "any" => return Some(Unicode::Ranges(&[(0, 0x10_FFFF)])),
        "ascii" => return Some(Unicode::Ranges(&[(0, 0x7F)])),
        "assigned" => return Some(Unicode::Assigned),
        // Halves of surrogate pairs: no text has one.
        "cs" | "surrogate" => return Some(Unicode::Ranges(&[])),
        _ => {}
    }
    let category = CATEGORIES.split_whitespace().find_map(|row| {
        let (short, long) = row.split_once('=').unwrap_or((row, ""));
        (letters(short) == plain || !long.is_empty() && long.split('=').any(|long| letters(long) == plain))
            .then_some(short)
    });
    if let Some(category) = category {
        return Some(Unicode::Category(category));
    }
    SCRIPTS.split_whitespace().find(|script| letters(script) == plain).map(Unicode::Script)
}

/// The name in lower case without spaces, `_` and `-`.
fn letters(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, ' ' | '_' | '-')).map(|c| c.to_ascii_lowercase()).collect()
}

/// General categories: the short name, and the long ones.
const CATEGORIES: &str = "
C=Other Cc=Control=cntrl Cf=Format Cn=Unassigned Co=Private_Use
L=Letter LC=Cased_Letter Ll=Lowercase_Letter Lm=Modifier_Letter Lo=Other_Letter Lt=Titlecase_Letter
Lu=Uppercase_Letter
M=Mark=Combining_Mark Mc=Spacing_Mark Me=Enclosing_Mark Mn=Nonspacing_Mark
N=Number Nd=Decimal_Number=digit Nl=Letter_Number No=Other_Number
P=Punctuation=punct Pc=Connector_Punctuation Pd=Dash_Punctuation Pe=Close_Punctuation Pf=Final_Punctuation
Pi=Initial_Punctuation Po=Other_Punctuation Ps=Open_Punctuation
S=Symbol Sc=Currency_Symbol Sk=Modifier_Symbol Sm=Math_Symbol So=Other_Symbol
Z=Separator Zl=Line_Separator Zp=Paragraph_Separator Zs=Space_Separator
";

/// Scripts, as Unicode 15 names them.
const SCRIPTS: &str = "
Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali
Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma
Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari
Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic
Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana
Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana
Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Linear_A
Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Masaram_Gondi
Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro
Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham
Ol_Chiki Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian
Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician
Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala Sogdian
Sora_Sompeng Soyombo Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil
Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Warang_Citi
Yezidi Yi Zanabazar_Square
";
