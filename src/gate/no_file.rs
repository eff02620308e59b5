//! Words of a check's text that name no file that decides, however they are spelled: what it searches for, and modules of the
//! product. What was approved as a file stays one.

use crate::gate::closure::Text;
use crate::gate::executed;
use crate::gate::guessed::Known;
use crate::gate::required;
use crate::gate::words;
use crate::project;
use std::path::Path;

/// A module beyond this is none that somebody wrote.
const LARGEST: u64 = 1 << 20;

/// The folders in which words may be meant, the project's root, and what is known to be there.
type Where<'a> = (&'a [String], &'a str, Known<'a>);

/// Takes such words away, with what is told of each. One that stands in the text in another way too is left.
pub(in crate::gate) fn without(text: &Text, words: &[String], begins: &[bool], at: Where) -> (Vec<String>, Vec<bool>) {
    let mut others = of_product(&text.text, at);
    if text.is_for_shell() {
        others.extend(executed::patterns(&text.text));
    }
    let times = |among: &[String], word: &String| among.iter().filter(|other| *other == word).count();
    let was_file = |word: &String| matches!(at.2, Known::InPins(_)) && paths(word, at).any(|path| at.2.holds(&path));
    let is_other =
        |word: &String| others.contains(word) && times(&others, word) >= times(words, word) && !was_file(word);
    let kept = words.iter().zip(begins).filter(|(word, _)| !is_other(word));
    kept.map(|(word, begins)| (word.clone(), *begins)).unzip()
}

/// Returns the modules of Node of which a text takes members as of a product, and that test nothing by themselves.
fn of_product(text: &str, at: Where) -> Vec<String> {
    let is_product = |path: String| match at.2 {
        Known::InPins(_) => !required::files(&path).iter().any(|file| at.2.holds(file)),
        Known::InFolder(root) => {
            let read = |file: &String| project::read_beneath(root, Path::new(file), LARGEST).ok().flatten();
            let text = required::files(&path).iter().find_map(read);
            text.map_or(!at.2.holds(&path), |bytes| !required::tests(&String::from_utf8_lossy(&bytes)))
        }
    };
    let modules = required::unpacked(text).into_iter();
    modules.filter(|module| paths(module, at).all(is_product)).collect()
}

fn paths<'a>(word: &'a str, at: Where<'a>) -> impl Iterator<Item = String> + 'a {
    at.0.iter().filter_map(move |base| words::project_path(word, base, at.1))
}
