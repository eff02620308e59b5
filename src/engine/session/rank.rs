//! Which texts are nearest to a question by their words: Okapi BM25, with its usual constants.
//!
//! Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.

use std::collections::BTreeMap;

/// How fast a word's weight settles as it comes again.
const K1: f64 = 1.2;
/// How much a long text is held against it.
const B: f64 = 0.75;

/// Returns the positions of the texts that share words with the question, nearest first; equal ones in their order.
pub fn rank(question: &str, texts: &[String]) -> Vec<usize> {
    let asked = counts(question);
    let texts: Vec<BTreeMap<String, usize>> = texts.iter().map(|text| counts(text)).collect();
    let length = |text: &BTreeMap<String, usize>| text.values().sum::<usize>() as f64;
    let mean = texts.iter().map(length).sum::<f64>() / texts.len().max(1) as f64;
    let rarity = |word: &str| {
        let with = texts.iter().filter(|text| text.contains_key(word)).count() as f64;
        (1.0 + (texts.len() as f64 - with + 0.5) / (with + 0.5)).ln()
    };
    let rarities: BTreeMap<&str, f64> = asked.keys().map(|word| (word.as_str(), rarity(word))).collect();
    let score = |text: &BTreeMap<String, usize>| {
        let weight = |(word, rarity): (&&str, &f64)| {
            let count = text.get(*word).copied().unwrap_or(0) as f64;
            rarity * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length(text) / mean))
        };
        rarities.iter().map(weight).sum::<f64>()
    };
    let mut scored: Vec<(f64, usize)> = texts.iter().map(score).zip(0..).filter(|(score, _)| *score > 0.0).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.into_iter().map(|(_, at)| at).collect()
}

/// Counts the words of a text, in lower case and without those that are everywhere.
fn counts(text: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).map(|word| stem(&word)) {
        if word.chars().count() > 1 && !EVERYWHERE.contains(&word.as_str()) {
            *counts.entry(word).or_default() += 1;
        }
    }
    counts
}

/// Takes the plural from an English word; `tests` and `test` are one.
fn stem(word: &str) -> String {
    let cut = word.strip_suffix('s').filter(|rest| rest.len() > 2 && !rest.ends_with(['s', 'u', 'i']));
    cut.unwrap_or(word).to_owned()
}

const EVERYWHERE: [&str; 28] = [
    "an", "and", "are", "as", "at", "be", "by", "can", "for", "from", "how", "if", "in", "is", "it", "not", "of", "on",
    "or", "so", "that", "the", "then", "to", "when", "which", "with", "without",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(question: &str, texts: &[&str]) -> Vec<usize> {
        rank(question, &texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn shared_rare_words_decide_and_common_ones_do_not() {
        let texts = [
            "colours of the list, and how it is sorted",
            "the database port in tests",
            "how tests are run",
            "the list is kept in a database, whose port is 5433",
        ];
        assert_eq!(ranked("The Database has another port", &texts), [1, 3]);
        assert_eq!(ranked("run the test", &texts), [2, 1]);
        assert_eq!(ranked("how the of and", &texts), Vec::<usize>::new());
        assert_eq!(ranked("nothing alike", &texts), Vec::<usize>::new());
        assert_eq!(ranked("x", &[]), Vec::<usize>::new());
    }

    #[test]
    fn of_equal_texts_the_first_stays_first() {
        assert_eq!(ranked("port", &["port one", "port two", "port six"]), [0, 1, 2]);
    }

    #[test]
    fn words_of_any_script_are_words() {
        assert_eq!(ranked("größe", &["farbe", "Größe"]), [1]);
        assert_eq!(ranked("status class", &["statu clas", "class"]), [1]);
    }
}
