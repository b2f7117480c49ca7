//! What speaks against keeping a sentence: that it asks, supposes, reports, jokes, is meant for the moment, or must never be kept.

use super::phrase::{Sense, is_beside_order, is_task};
use super::signs::{
    ASKED_TO, ASKS, AT_CHOICE, AT_HAND, COMPLAINS, CREDENTIAL, DANGLES, DENIES, DESCRIBES, ELSEWHERE, ENDORSES,
    FLEETING, FOR_NOW, FOR_THIS, FORETELLS, FROM_NOW, GROUND, HERE, INSTRUCTED, JESTS, JUDGES, LASTING, LASTS,
    LEADS_UP, LEISURE, MATERIAL, MOMENTARY, NOT_TOLD, OF_CODE, OF_PLACE, OF_PROGRAM, OF_WORK, OFF_RECORD, PASTED,
    POINTS, REPORTS, REQUESTS, ROLE, SHOWS, SHRUGS, SIGNED, SUPPOSES, TAKES_BACK, TOLD_ANYWAY, TOLD_OF, UNSETTLED,
    WORK,
};

pub(super) fn is_question(sentence: &str) -> bool {
    ASKS.are_in(sentence.trim()) && !REQUESTS.are_in(sentence.trim())
}

pub(super) fn is_supposed(sentence: &str) -> bool {
    SUPPOSES.are_in(sentence)
}

/// Whether the sentence tells what somebody else says. "As I said" does not.
pub(super) fn is_reported(masked: &str) -> bool {
    let own = [
        "as i said",
        "like i said",
        "i said",
        "i already said",
        "as i told you",
        "i told you",
        "when i say",
        "if i say",
        "after i say",
        "until i say",
        "unless i say",
        "the code says",
        "要告诉我",
        "先告诉我",
        "请告诉我",
        "都告诉我",
        "我说过",
        "说过好几次",
        "说过很多次",
        "说过多少次",
        "跟你说过",
    ];
    let lower = own.iter().fold(masked.to_lowercase(), |text, own| text.replace(own, ""));
    let told = lower.split("no matter what").next().unwrap_or_default();
    REPORTS.are_in(told)
}

pub(super) fn is_jest(sentence: &str) -> bool {
    JESTS.are_in(sentence)
}

pub(super) fn is_momentary(sentence: &str) -> bool {
    is_just_for_now(sentence) || is_for_this(sentence) || MOMENTARY.are_in(sentence)
}

pub(super) fn is_for_this(sentence: &str) -> bool {
    FOR_THIS.are_in(sentence) && !LASTS.are_in(sentence)
}

pub(super) fn is_elsewhere(sentence: &str) -> bool {
    ELSEWHERE.are_in(sentence)
}

pub(super) fn casts_a_role(sentence: &str) -> bool {
    ROLE.are_in(sentence.trim())
}

pub(super) fn is_asked_to(clause: &str) -> bool {
    ASKED_TO.are_in(clause)
}

pub(super) fn is_lasting(sentence: &str) -> bool {
    LASTING.are_in(sentence)
}

/// Whether what is said beside a task is meant for more than the task.
pub(super) fn outlives_task(sense: Sense, sentence: &str) -> bool {
    match sense {
        Sense::Ban | Sense::Mind => is_lasting(sentence),
        Sense::Rule => (is_lasting(sentence) || WORK.are_in(sentence)) && !DESCRIBES.are_in(sentence.trim()),
        _ => true,
    }
}

/// Whether the words say themselves that they are for now.
pub(super) fn is_just_for_now(sentence: &str) -> bool {
    FOR_NOW.are_in(sentence)
}

/// Credentials, judgements of people, the state of the work, what the code or an instruction file says: not kept, even when
/// asked for.
pub(super) fn is_never_kept(sentence: &str) -> bool {
    [&CREDENTIAL, &JUDGES, &FLEETING, &INSTRUCTED].iter().any(|signs| signs.are_in(sentence))
}

pub(super) fn is_off_the_record(sentence: &str) -> bool {
    OFF_RECORD.are_in(sentence)
}

/// Whether somebody's text follows: a line that announces one, or one that asks for something and has a paragraph below it.
pub(super) fn introduces_material(sentence: &str, rest: &str) -> bool {
    let ends_paragraph = rest.trim_start_matches([' ', '\t', '\r']).starts_with("\n") && {
        let below = rest.trim_start();
        !below.is_empty() && rest[..rest.len() - below.len()].matches('\n').count() > 1
    };
    let asks = || is_question(sentence) || sentence.trim_end().ends_with([':', '：']) || is_task(sentence);
    MATERIAL.are_in(sentence.trim()) || (ends_paragraph && SHOWS.are_in(sentence) && asks())
}

/// "Change the title to the release is scheduled …" orders something, and tells nothing.
fn is_told_of(clause: &str) -> bool {
    let first = clause.split(|c: char| !c.is_alphanumeric() && c != '-').next().unwrap_or_default();
    TOLD_OF.are_in(clause) || super::words::is_order(first)
}

/// The part of a message that the person wrote, before what was pasted below it. A letter is pasted as a whole.
pub(super) fn unpasted(text: &str) -> &str {
    if SIGNED.are_in(text) {
        return "";
    }
    &text[..PASTED.start_in(text).unwrap_or(text.len())]
}

/// Whether a sentence only says that the one before it is meant for good.
pub(super) fn endorses(sentence: &str) -> bool {
    ENDORSES.are_in(sentence.trim())
}

/// Whether the words before are taken back.
pub(super) fn takes_back(sentence: &str) -> bool {
    TAKES_BACK.are_in(sentence.trim())
}

/// Whether a ban says that it lasts, or for what, and does not go with an order.
fn has_ground(clause: &str) -> bool {
    is_lasting(clause) || (GROUND.are_in(clause) && !is_beside_order(clause))
}

/// Whether a sentence is about the work.
fn is_of_work(clause: &str) -> bool {
    WORK.are_in(clause) || OF_WORK.are_in(clause)
}

/// Whether a wish is one for the work: it says so, or it says that it holds from now on.
fn is_for_work(clause: &str) -> bool {
    FROM_NOW.are_in(clause) || is_of_work(clause)
}

/// Whether a place is one that many come back to; a bare address is one only of such a thing.
fn is_lasting_place(clause: &str) -> bool {
    let bare = clause.contains("://") || !is_of_work(clause);
    !bare || OF_PLACE.are_in(clause)
}

/// Whether what was caught can stand by itself.
pub(super) fn fits(sense: Sense, what: &str, clause: &str) -> bool {
    let first = clause.split([',', ';', '，', '；', '—']).next().unwrap_or(clause);
    let first = first
        .replace("it when", "when")
        .replace("prefer that you", "prefer you")
        .replace("s that ", "s which ")
        .replace("rom here on", "rom now on");
    let points = || POINTS.are_in(&first) && !LASTS.are_in(&first);
    let lasts = || !points() && !HERE.are_in(&first);
    let told = what.chars().filter(|c| c.is_alphanumeric()).count() >= 4;
    match sense {
        Sense::Remember | Sense::Mind => {
            let of_task = OF_CODE.are_in(what) || LEADS_UP.are_in(what);
            told && !of_task && (!NOT_TOLD.are_in(what) || TOLD_ANYWAY.are_in(what))
        }
        Sense::Forget => told && !ASKS.are_in(what),
        Sense::Ban => {
            let grounded = is_lasting(what) || has_ground(clause);
            told && lasts() && grounded && is_for_work(what) && !LEADS_UP.are_in(clause)
        }
        Sense::Decision => {
            let in_doubt = DANGLES.are_in(&first)
                || UNSETTLED.are_in(clause)
                || COMPLAINS.are_in(&first)
                || LEISURE.are_in(clause);
            !in_doubt && is_of_work(clause) && !is_beside_order(clause) && !LEADS_UP.are_in(clause)
        }
        Sense::Whereabouts => {
            let to_order = is_beside_order(clause) || LEADS_UP.are_in(clause) || COMPLAINS.are_in(clause);
            !AT_HAND.are_in(clause) && !is_told_of(clause) && !to_order && is_lasting_place(clause)
        }
        Sense::Deadline => !is_told_of(clause) && !DENIES.are_in(clause) && !is_beside_order(clause),
        Sense::About => !points() && !SHRUGS.are_in(clause) && !LEADS_UP.are_in(clause),
        Sense::Rule => {
            let in_doubt = COMPLAINS.are_in(&first) || FORETELLS.are_in(clause) || LEADS_UP.are_in(clause);
            let in_doubt = in_doubt || LEISURE.are_in(&first);
            let of_program = OF_PROGRAM.are_in(clause) && !WORK.are_in(clause) && !is_lasting(clause);
            let for_work = is_for_work(&first) || FROM_NOW.are_in(clause);
            told && lasts() && !in_doubt && !of_program && for_work
        }
        Sense::Liking => {
            let in_doubt = AT_CHOICE.are_in(clause) || DANGLES.are_in(clause) || LEADS_UP.are_in(clause);
            told && lasts() && !in_doubt && is_for_work(clause)
        }
        _ => true,
    }
}
