//! Which key of a keymap has a symbol. A device presses keys by their numbers, and the keymap of the session says what is on
//! them.
//!
//! A keymap is a text in the format of XKB. Compositors send the whole of it, without includes: each key by its name, with
//! its number in one section and its symbols in another. A keymap may have several layouts, and the one that is active is
//! not known for certain. So a symbol counts only where all of a key's layouts have it, without modifiers.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;

use crate::key::Key;

/// The format of keymaps that is known.
const XKB: u32 = 1;
/// The longest keymap, in bytes. Those of today have some 60,000.
const LONGEST: usize = 1 << 20;
/// XKB counts from here on what Linux's `input-event-codes.h` counts.
const FIRST: u32 = 8;

/// The keys that have a symbol, by the symbol.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Keymap(HashMap<u32, u32>);

impl Keymap {
    /// Reads one. `None`: it is none that is known.
    pub(super) fn read(kind: u32, size: u32, file: OwnedFd) -> Option<Self> {
        let file = File::from(file);
        let size = usize::try_from(size).ok()?;
        // A pipe might give nothing for ever.
        let is_file = file.metadata().is_ok_and(|it| it.is_file());
        if kind != XKB || size > LONGEST || !is_file {
            return None;
        }
        let mut text = vec![0; size];
        file.read_exact_at(&mut text, 0).ok()?;
        Some(Self::of(&String::from_utf8_lossy(&text)))
    }

    /// Linux's number of the key that has a symbol. `None`: no key has it without modifiers.
    pub(super) fn key(&self, key: Key) -> Option<u32> {
        self.0.get(&key.symbol).copied()
    }

    fn of(text: &str) -> Self {
        let mut numbers = HashMap::new();
        let mut symbols = HashMap::new();
        for statement in text.split(';') {
            if let Some((name, number)) = key_number(statement) {
                numbers.entry(name).or_insert(number);
            } else if let Some((name, symbol)) = key_symbol(statement)
                && let Some(&number) = numbers.get(name)
            {
                let first = symbols.entry(symbol).or_insert(number);
                // Of several keys the one of a PC's keyboard.
                *first = number.min(*first);
            }
        }
        Self(symbols)
    }
}

/// What `<AE01> = 10` says. It may follow the beginning of a section.
fn key_number(statement: &str) -> Option<(&str, u32)> {
    let statement = statement.rsplit('{').next()?.trim();
    let (name, number) = statement.strip_prefix('<')?.split_once('>')?;
    let number: u32 = number.trim().strip_prefix('=')?.trim().parse().ok()?;
    Some((name, number.checked_sub(FIRST)?))
}

/// The symbol that all layouts of a key have without modifiers: `key <AE01> { [ 1, exclam ] }`, or with more about the key
/// between the braces. Each list of symbols is that of a layout, unless it is one of actions.
fn key_symbol(statement: &str) -> Option<(&str, u32)> {
    let (_, rest) = statement.split_once("key <")?;
    let (name, rest) = rest.split_once('>')?;
    let body = rest.trim_start().strip_prefix('{')?;
    let mut common = None;
    for part in body.split(']') {
        let Some((before, list)) = part.rsplit_once('[') else {
            continue;
        };
        // `symbols[Group1]= [ ... ]`, whose first part ends in the name of the layout.
        if list.trim_start().starts_with("Group") || list.trim_start().starts_with("group") {
            continue;
        }
        if before.contains("actions") || list.contains('(') {
            continue;
        }
        let symbol = symbol_of(list.split(',').next()?.trim())?;
        if *common.get_or_insert(symbol) != symbol {
            return None;
        }
    }
    Some((name, common?))
}

/// The number of a symbol by the name that keymaps have for it.
fn symbol_of(name: &str) -> Option<u32> {
    let name = match name {
        "Prior" => "Page_Up",
        "Next" => "Page_Down",
        other => other,
    };
    // Capital letters are on a key with a modifier.
    let is_capital = name.len() == 1 && name.chars().all(|it| it.is_ascii_uppercase());
    let key = Key::named(name).ok().filter(|_| !is_capital)?;
    Some(key.symbol)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = r#"xkb_keymap {
xkb_keycodes "(unnamed)" {
	minimum = 8;
	maximum = 708;
	<ESC>                = 9;
	<AE01>               = 10;
	<AD06>               = 29;
	<AC01>               = 38;
	<AB01>               = 52;
	<RTRN>               = 36;
	<KPEN>               = 104;
	<FK02>               = 68;
	<PGUP>               = 112;
	indicator 1 = "Caps Lock";
	alias <AC12>         = <BKSL>;
};
xkb_types "(unnamed)" { virtual_modifiers NumLock; type "ONE_LEVEL" { modifiers= none; level_name[1]= "Any"; }; };
xkb_symbols "(unnamed)" {
	name[Group1]="English (US)";
	key <ESC>                {	[          Escape ] };
	key <AE01>               {	[               1,          exclam ] };
	key <AD06>               {
		symbols[Group1]= [               y,               Y ],
		symbols[Group2]= [               z,               Z ]
	};
	key <AC01>               {
		type[Group1]= "ALPHABETIC",
		symbols[Group1]= [               a,               A ],
		type[Group2]= "FOUR_LEVEL_SEMIALPHABETIC",
		symbols[Group2]= [               a,               A,              ae,              AE ]
	};
	key <AB01>               {	[               Q,               q ] };
	key <RTRN>               {	[          Return ] };
	key <KPEN>               {	[          Return ] };
	key <FK02>               {
		type= "CTRL+ALT",
		symbols[Group1]= [ F2, F2, F2, F2, XF86Switch_VT_2 ],
		actions[Group1]= [ NoAction(), NoAction(), SwitchScreen(screen=2,!same) ]
	};
	key <PGUP>               {	[           Prior ] };
	modifier_map Shift { <LFSH> };
};
};
"#;

    fn key(keymap: &Keymap, name: &str) -> Option<u32> {
        keymap.key(Key::named(name).unwrap())
    }

    #[test]
    fn a_symbol_counts_where_all_layouts_have_it_without_modifiers() {
        let keymap = Keymap::of(TEXT);
        for (name, number) in [
            ("Escape", Some(1)),
            ("1", Some(2)),
            ("a", Some(30)),
            ("Return", Some(28)),
            ("F2", Some(60)),
            ("Page_Up", Some(104)),
            // It is on another key in the second layout.
            ("y", None),
            ("z", None),
            // It takes a modifier.
            ("q", None),
            ("F3", None),
        ] {
            assert_eq!(key(&keymap, name), number, "{name}");
        }
    }

    fn file(text: &str) -> OwnedFd {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.into()
    }

    #[test]
    fn what_is_no_keymap_is_none() {
        let size = TEXT.len() as u32;
        let read = Keymap::read(XKB, size, file(TEXT)).unwrap();
        assert_eq!(key(&read, "a"), Some(30));
        assert_eq!(Keymap::read(2, size, file(TEXT)), None, "another format");
        assert_eq!(Keymap::read(XKB, size + 1, file(TEXT)), None, "cut off");
        assert_eq!(Keymap::read(XKB, u32::MAX, file(TEXT)), None, "too long");
        let (pipe, _other) = std::io::pipe().unwrap();
        assert_eq!(Keymap::read(XKB, 4, pipe.into()), None, "a pipe");
        for text in ["", "key <", "key <A> { [", "<A> = 1", "<A> = 99999999999"] {
            assert_eq!(Keymap::of(text), Keymap::default(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[<>{}\\[\\];,=a-z0-9 ]{0,200}", cut in 0..1000_usize) {
            Keymap::of(&text);
            Keymap::of(&TEXT.chars().skip(cut).chain(text.chars()).collect::<String>());
        }
    }
}
