//! Room, given where it is worth most: every offer has forms from brief to full, and each step up is bought in the order
//! of its worth until the room is used.

use super::sections::Section;

/// Something that could stand in a section.
#[derive(Debug, Clone)]
pub(crate) struct Offer {
    /// Where it would stand. Within a section, offers keep their order.
    pub(crate) section: Section,
    /// From brief to full. Each ends with a line break.
    pub(crate) forms: Vec<Form>,
}

/// One way to say it.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    /// The words.
    pub(crate) text: String,
    /// What a byte of it is worth. A fuller form is worth less a byte than a briefer one.
    pub(crate) worth: u32,
}

impl Offer {
    /// An offer with a single form.
    pub(crate) fn plain(section: Section, text: String, worth: u32) -> Self {
        Self { section, forms: vec![Form { text, worth }] }
    }
}

/// Which form of each offer was bought, if any. The bytes of all of them together are at most `room`.
pub(crate) fn choose(offers: &[Offer], room: usize) -> Vec<Option<usize>> {
    let mut steps: Vec<(u32, usize, usize)> = Vec::new();
    for (offer, forms) in offers.iter().map(|offer| &offer.forms).enumerate() {
        steps.extend(forms.iter().enumerate().map(|(form, words)| (words.worth, offer, form)));
    }
    steps.sort_by_key(|(worth, offer, form)| (std::cmp::Reverse(*worth), *form, *offer));
    let mut chosen = vec![None; offers.len()];
    let mut used: usize = 0;
    for (_, offer, form) in steps {
        let length = |form: usize| offers[offer].forms[form].text.len();
        let before = chosen[offer].map_or(0, length);
        let skips_a_form = form > 0 && chosen[offer] != Some(form - 1);
        let after = used - before + length(form);
        if !skips_a_form && after <= room {
            chosen[offer] = Some(form);
            used = after;
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn offer(forms: &[(usize, u32)]) -> Offer {
        let forms = forms.iter().map(|(length, worth)| Form { text: "x".repeat(*length), worth: *worth }).collect();
        Offer { section: Section::Files, forms }
    }

    #[test]
    fn worth_decides_and_a_fuller_form_replaces_the_brief_one() {
        let offers = [offer(&[(10, 9), (50, 5)]), offer(&[(30, 7)]), offer(&[(100, 8)])];
        assert_eq!(choose(&offers, 45), [Some(0), Some(0), None]);
        assert_eq!(choose(&offers, 80), [Some(1), Some(0), None]);
        assert_eq!(choose(&offers, 9), [None, None, None]);
    }

    proptest! {
        #[test]
        fn the_room_is_never_exceeded(all in proptest::collection::vec(proptest::collection::vec((0usize..80, 0u32..9), 0..4), 0..20), room in 0usize..400) {
            let offers: Vec<_> = all.iter().map(|forms| offer(forms)).collect();
            let used: usize = choose(&offers, room).iter().zip(&offers).filter_map(|(form, offer)| form.map(|form| offer.forms[form].text.len())).sum();
            prop_assert!(used <= room);
        }
    }
}
