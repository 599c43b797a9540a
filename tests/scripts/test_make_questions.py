"""Questions made from trees that are written and read by hand."""

import importlib
import pathlib

import pytest

from keras_elmo.tasks.squad import read_squad

pytestmark = pytest.mark.once

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "data"


@pytest.fixture(scope="module")
def load():
    """Imports a file of scripts/data, which finds the files beside it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield importlib.import_module


# Form, lemma, tag, features, head, relation, and what else; "N-M form" is a multiword
# token. `_` at the end of a line: no space behind.
PAST = "Tense=Past|VerbForm=Fin"
THIRD = "Number=Sing|Person=3|Tense=Pres|VerbForm=Fin"
SENTENCES = {
    "The young farmer sold three goats in Leeds last week.": f"""
        The the DET _ 3 det
        young young ADJ _ 3 amod
        farmer farmer NOUN Number=Sing 4 nsubj
        sold sell VERB {PAST} 0 root
        three three NUM _ 6 nummod
        goats goat NOUN Number=Plur 4 obj
        in in ADP _ 8 case
        Leeds Leeds PROPN Number=Sing 4 obl
        last last ADJ _ 10 amod
        week week NOUN Number=Sing 4 obl:unmarked _
        . . PUNCT _ 4 punct""",
    "Their barn doesn't need new windows.": f"""
        Their their PRON Person=3|Poss=Yes|PronType=Prs 2 nmod:poss
        barn barn NOUN Number=Sing 5 nsubj
        3-4 doesn't
        does do AUX {THIRD} 5 aux _
        n't not PART Polarity=Neg 5 advmod
        need need VERB VerbForm=Inf 0 root
        new new ADJ _ 7 amod
        windows window NOUN Number=Plur 5 obj _
        . . PUNCT _ 5 punct""",
    "In 2019 the bridge was repaired by Dr. Amy Stone, and tourists liked it.": f"""
        In in ADP _ 2 case
        2019 2019 NUM _ 6 obl
        the the DET _ 4 det
        bridge bridge NOUN Number=Sing 6 nsubj:pass
        was be AUX {PAST} 6 aux:pass
        repaired repair VERB Tense=Past|VerbForm=Part|Voice=Pass 0 root
        by by ADP _ 9 case
        Dr. Dr. PROPN Number=Sing 9 nmod:desc
        Amy Amy PROPN Number=Sing 6 obl:agent
        Stone Stone PROPN Number=Sing 9 flat _
        , , PUNCT _ 14 punct
        and and CCONJ _ 14 cc
        tourists tourist NOUN Number=Plur 14 nsubj
        liked like VERB {PAST} 6 conj
        it it PRON Number=Sing|Person=3|PronType=Prs 14 obj _
        . . PUNCT _ 6 punct""",
    "Nurses love the garden, but the shops are the best places in town.": """
        Nurses nurse NOUN Number=Plur 2 nsubj
        love love VERB Number=Plur|Person=3|Tense=Pres|VerbForm=Fin 0 root
        the the DET _ 4 det
        garden garden NOUN Number=Sing 2 obj _
        , , PUNCT _ 12 punct
        but but CCONJ _ 12 cc
        the the DET _ 8 det
        shops shop NOUN Number=Plur 12 nsubj
        are be AUX Tense=Pres|VerbForm=Fin 12 cop
        the the DET _ 12 det
        best good ADJ _ 12 amod
        places place NOUN Number=Plur 2 conj
        in in ADP _ 14 case
        town town NOUN Number=Sing 12 nmod _
        . . PUNCT _ 2 punct""",
    "If the cook's left, we'll wait for the big bus at 8:30": """
        If if SCONJ _ 5 mark
        the the DET _ 3 det
        cook cook NOUN Number=Sing 5 nsubj _
        's have AUX Number=Sing|Person=3|Tense=Pres|VerbForm=Fin 5 aux
        left leave VERB Tense=Past|VerbForm=Part 9 advcl _
        , , PUNCT _ 5 punct
        we we PRON Number=Plur|Person=1|PronType=Prs 9 nsubj _
        'll will AUX VerbForm=Fin 9 aux
        wait wait VERB VerbForm=Inf 0 root
        for for ADP _ 13 case
        the the DET _ 13 det
        big big ADJ _ 13 amod
        bus bus NOUN Number=Sing 9 obl
        at at ADP _ 15 case
        8:30 8:30 NUM _ 9 obl""",
    "Did the tired teacher find the cat?": f"""
        Did do AUX {PAST} 5 aux
        the the DET _ 4 det
        tired tired ADJ _ 4 amod
        teacher teacher NOUN Number=Sing 5 nsubj
        find find VERB VerbForm=Inf 0 root
        the the DET _ 7 det
        cat cat NOUN Number=Sing 5 obj _
        ? ? PUNCT _ 5 punct""",
}
# Worked out by hand from the rules: kind, question, answer.
EXPECTED = [
    [
        (
            "subject",
            "Who sold three goats in Leeds last week?",
            "The young farmer",
        ),
        (
            "object",
            "What did the young farmer sell in Leeds last week?",
            "three goats",
        ),
        ("where", "Where did the young farmer sell three goats last week?", "Leeds"),
        ("when", "When did the young farmer sell three goats in Leeds?", "last week"),
    ],
    # Denied: only the subject is asked for.
    [("subject", "What doesn't need new windows?", "Their barn")],
    # What is dropped in front of the subject; "liked it" points out of the sentence.
    [
        ("subject", "What was repaired by Dr. Amy Stone?", "the bridge"),
        ("preposition", "Who was the bridge repaired by?", "Dr. Amy Stone"),
        ("when", "When was the bridge repaired by Dr. Amy Stone?", "2019"),
    ],
    # "Who" takes the singular; a plural predicate keeps its verb.
    [
        ("subject", "Who loves the garden?", "Nurses"),
        ("object", "What do nurses love?", "the garden"),
        ("subject", "What are the best places in town?", "the shops"),
    ],
    # No condition is told as a fact; "we" is no answer; 'll in full; and "What will we
    # wait for?" would have no noun.
    [("when", "When will we wait for the big bus?", "8:30")],
    [],
]


def conllu(text, rows):
    lines, number = [f"# text = {text}"], 0
    for row in rows.strip().splitlines():
        parts = row.split()
        if len(parts) == 2:
            lines.append("\t".join(parts + ["_"] * 8))
            continue
        number += 1
        form, lemma, upos, feats, head, relation, *glued = parts
        misc = "SpaceAfter=No" if glued else "_"
        columns = [str(number), form, lemma, upos, "_", feats, head, relation]
        lines.append("\t".join([*columns, "_", misc]))
    return "\n".join(lines) + "\n\n"


@pytest.fixture
def treebank(tmp_path):
    def write(*documents, name="t.conllu"):
        path = tmp_path / name
        path.write_text(
            "".join(
                f"# newdoc id = d{index}\n"
                + "".join(conllu(text, SENTENCES[text]) for text in document)
                for index, document in enumerate(documents)
            ),
            encoding="utf-8",
        )
        return path

    return write


def test_words_stand_where_the_text_has_them(load, treebank):
    trees = list(load("trees").read_trees(treebank(list(SENTENCES))))
    assert [tree.text for tree in trees] == list(SENTENCES)
    for tree in trees:
        for word in tree.words:
            assert tree.text[word.start : word.end] == word.form
    assert trees[1].subtree(1) == [0, 1]
    assert trees[2].subtree(8) == [6, 7, 8, 9]
    assert trees[0].child(3, "obj") == 5
    assert trees[0].child(3, "iobj") is None


def test_questions_and_answers_are_those_of_the_hand(load, treebank):
    trees = list(load("trees").read_trees(treebank(list(SENTENCES))))
    names = load("clauses").find_names(trees)
    assert names.persons == {"Amy", "Stone"}
    assert names.places == {"Leeds"}
    ask = load("question_rules").ask
    made = [
        [(q.kind, q.question, tree.text[q.start : q.end]) for q in ask(tree, names)]
        for tree in trees
    ]
    assert made == EXPECTED


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("# text = The", "# text = A", "'The' is not at 0"),
        ("last week.\n", "last week!\n", "'.' is not at 52 of its text, but '!'"),
        ("last week.\n", "last week. So\n", "its text goes on"),
        ("last week.\n", "lastweek.\n", "white space after 'last' is not as SpaceAf"),
        ("\t4\tnsubj", "\t44\tnsubj", "word 3 has the head 44"),
        ("\t0\troot", "\t3\troot", "no tree with one root"),
        ("\t4\tnsubj", "\t0\tnsubj", "no tree with one root"),
        ("3\tfarmer", "5\tfarmer", "word 5 stands where 3 should"),
        ("\tobj\t", "\tobj ", "line 8: not 10 columns"),
    ],
)
def test_broken_trees_are_named(load, treebank, old, new, told):
    path = treebank([next(iter(SENTENCES))])
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ValueError, match=r"t\.conllu`") as error:
        list(load("trees").read_trees(path))
    assert told in str(error.value)


def test_contexts_are_sentences_in_a_row_of_one_document(load, treebank):
    first, second, third, fourth, *_ = SENTENCES
    # 11, 8, 16 and 15 words: the last document is too short.
    path = treebank([first, second, third], [fourth, first], [second, second])
    script = load("make_questions")
    parts = script.contexts(list(load("trees").read_trees(path)))
    texts = [[tree.text for tree in part] for part in parts]
    assert texts == [[first, second, third], [fourth, first]]
    # 15 + 16 + 15 + 16 = 62 words are enough; one of 11 is left and joins them.
    long = [fourth, third, fourth, third, first]
    parts = script.contexts(list(load("trees").read_trees(treebank(long))))
    assert [len(part) for part in parts] == [5]
    # With 8 more there are two sentences of 19 words, with 11 one part of 22.
    parts = script.contexts(list(load("trees").read_trees(treebank([*long, second]))))
    assert [len(part) for part in parts] == [6]
    parts = script.contexts(list(load("trees").read_trees(treebank([*long, first]))))
    assert [len(part) for part in parts] == [4, 2]


def run(load, tmp_path, paths, *more):
    output = tmp_path / "questions"
    arguments = [f"--{name}={path}" for name, path in paths.items()]
    load("make_questions").main([*arguments, f"--output={output}", *more])
    return output


@pytest.fixture
def paths(treebank):
    first, second, third, fourth, fifth, sixth = SENTENCES
    return {
        "train": treebank([fourth, sixth, fifth], [third, second], name="train"),
        "dev": treebank([second, sixth, third], name="dev"),
        "test": treebank([first, second, sixth], name="test"),
    }


def test_sets_are_written_in_the_form_of_squad(load, tmp_path, paths, capsys):
    output = run(load, tmp_path, paths, "--most=9")
    assert sorted(path.name for path in output.iterdir()) == [
        "dev.json",
        "test.json",
        "train.json",
    ]
    sets = {name: read_squad(output / f"{name}.json") for name in paths}
    made = {
        name: [(q.id, q.question, q.answers[0][1]) for q in questions]
        for name, questions in sets.items()
    }
    # In the order of their answers' places.
    assert [question for _, question, _ in made["test"]] == [
        "Who sold three goats in Leeds last week?",
        "What did the young farmer sell in Leeds last week?",
        "Where did the young farmer sell three goats last week?",
        "When did the young farmer sell three goats in Leeds?",
        "What doesn't need new windows?",
    ]
    # What the test set asks is not asked again.
    assert made["dev"] == [
        ("dev-00001", "When was the bridge repaired by Dr. Amy Stone?", "2019"),
        ("dev-00002", "What was repaired by Dr. Amy Stone?", "the bridge"),
        ("dev-00003", "Who was the bridge repaired by?", "Dr. Amy Stone"),
    ]
    # And the train set's second document has nothing new.
    assert [question for _, question, _ in made["train"]] == [
        "Who loves the garden?",
        "What do nurses love?",
        "What are the best places in town?",
        "When will we wait for the big bus?",
    ]
    first, second, *_, sixth = SENTENCES
    assert {q.context for q in sets["test"]} == {" ".join([first, second, sixth])}
    assert "dev: 3 questions on 1 contexts: 1 preposition" in capsys.readouterr().err


def test_the_same_seed_takes_the_same_questions(load, tmp_path, paths):
    def taken(*more):
        output = run(load, tmp_path, paths, "--most=2", "--overwrite", *more)
        return [(output / f"{name}.json").read_text() for name in paths]

    first = taken("--seed=1")
    assert taken("--seed=1") == first
    assert any(taken(f"--seed={seed}") != first for seed in range(2, 6))
    # Two a context, and of two sentences before two of one.
    questions = read_squad(tmp_path / "questions" / "test.json")
    assert len(questions) == 2
    assert questions[1].question == "What doesn't need new windows?"


def test_nothing_is_written_over_or_left_half_made(load, tmp_path, paths):
    output = run(load, tmp_path, paths)
    before = (output / "train.json").read_bytes()
    with pytest.raises(FileExistsError):
        run(load, tmp_path, paths, "--seed=2")
    text = paths["train"].read_text()
    paths["train"].write_text(text.replace("# text = Nurses", "# text = The"))
    with pytest.raises(ValueError, match="'Nurses' is not at 0"):
        run(load, tmp_path, paths, "--overwrite")
    assert (output / "train.json").read_bytes() == before
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
