"""Makes questions in SQuAD's form from a treebank, by the rules of question_rules.py.

    python scripts/data/make_questions.py --train T.conllu --dev D.conllu \\
        --test E.conllu --output FOLDER

FOLDER gets train.json, dev.json and test.json. A context is a few sentences in a row of
one document, so that a question has to find the sentence and the span in it; a context
has a few questions at most, one a sentence where that is enough. The words of the
answer are those of the treebank: licence and credit are the treebank's.

The same files, options and seed give the same questions. No question is asked twice, in
one set or in two. Counts and samples go to stderr.
"""

import argparse
import itertools
import random
import sys
from collections import Counter
from pathlib import Path

from clauses import find_names
from question_rules import ask
from trees import Tree, read_trees

from keras_elmo.files import atomic_path
from keras_elmo.tasks.squad import Question, write_squad

MIN_SENTENCES = 2
MIN_WORDS = 20
# A context takes no further sentence from here on.
ENOUGH_WORDS = 60
SAMPLES = 5


def contexts(trees: list[Tree]) -> list[list[Tree]]:
    """Documents in parts of consecutive sentences, each long enough to search in."""
    parts = []
    for _, group in itertools.groupby(trees, lambda tree: tree.document):
        part, mine = [], []
        for tree in group:
            part.append(tree)
            if len(part) >= MIN_SENTENCES and _words(part) >= ENOUGH_WORDS:
                mine.append(part)
                part = []
        # What is left joins the part before it, or is one by itself.
        if part and mine and (len(part) < MIN_SENTENCES or _words(part) < MIN_WORDS):
            mine[-1] += part
        elif len(part) >= MIN_SENTENCES and _words(part) >= MIN_WORDS:
            mine.append(part)
        parts += mine
    return parts


def make_questions(
    trees: list[Tree],
    name: str,
    seed: int,
    most: int,
    seen: set[str],
) -> tuple[list[Question], Counter]:
    """The questions of a set, and how many there are of each kind.

    Args:
        trees: the sentences, in their order.
        name: str, what the ids start with.
        seed: int, which questions of a context are taken.
        most: int, questions a context at most.
        seen: questions and contexts that are made already; these are added.
    """
    names, rng = find_names(trees), random.Random(seed)
    made, kinds = [], Counter()
    for part in contexts(trees):
        context = " ".join(tree.text for tree in part)
        if context in seen:
            continue
        seen.add(context)
        for kind, question, start, answer in _choose(part, names, rng, most, seen):
            seen.add(question.casefold())
            kinds[kind] += 1
            number = f"{name}-{len(made) + 1:05d}"
            made.append(Question(number, question, context, ((start, answer),)))
    return made, kinds


def _choose(part, names, rng, most, seen):
    """(kind, question, start in the context, answer) of some questions of a context."""
    found, start = [], 0
    for sentence, tree in enumerate(part):
        for asked in ask(tree, names):
            answer = tree.text[asked.start : asked.end]
            place = start + asked.start
            found.append((sentence, (asked.kind, asked.question, place, answer)))
        start += len(tree.text) + 1
    rng.shuffle(found)
    # First one of each sentence, then a second one.
    used = Counter()
    ranked = []
    for sentence, asked in found:
        ranked.append((used[sentence], asked))
        used[sentence] += 1
    ranked.sort(key=lambda pair: pair[0])
    chosen, texts = [], set()
    for _, asked in ranked:
        text = asked[1].casefold()
        if len(chosen) < most and text not in seen and text not in texts:
            texts.add(text)
            chosen.append(asked)
    return sorted(chosen, key=lambda asked: asked[2])


def _words(part):
    return sum(len(tree.words) for tree in part)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("train", "dev", "test"):
        parser.add_argument(f"--{name}", type=Path, required=True, help="CoNLL-U file")
    parser.add_argument("--output", type=Path, required=True, help="folder to make")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=4, help="questions a context")
    parser.add_argument("--overwrite", action="store_true")
    options = parser.parse_args(arguments)
    seen: set[str] = set()
    with atomic_path(options.output, options.overwrite) as folder:
        folder.mkdir()
        # The held-out sets first: what two sets share is left out of the later one.
        for name in ("test", "dev", "train"):
            trees = list(read_trees(getattr(options, name)))
            made, kinds = make_questions(trees, name, options.seed, options.most, seen)
            write_squad(folder / f"{name}.json", made, title=name)
            _tell(name, made, kinds, options.seed)


def _tell(name, made, kinds, seed):
    number = len({question.context for question in made})
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    print(
        f"{name}: {len(made)} questions on {number} contexts: {told}", file=sys.stderr
    )
    for question in random.Random(seed).sample(made, min(SAMPLES, len(made))):
        answer = question.answers[0][1]
        print(f"    {question.question}  [{answer}]", file=sys.stderr)


if __name__ == "__main__":
    main()
