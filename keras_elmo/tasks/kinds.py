"""The four tasks: how their files are read, what is learned, what is scored."""

from dataclasses import dataclass, field

import numpy as np

from keras_elmo.models.elmo_pair_classifier import ElmoPairClassifier
from keras_elmo.models.elmo_question_answering import ElmoQuestionAnswering
from keras_elmo.models.elmo_text_classifier import ElmoTextClassifier
from keras_elmo.models.elmo_token_classifier import ElmoTokenClassifier
from keras_elmo.tasks import predict
from keras_elmo.tasks.columns import read_columns
from keras_elmo.tasks.labelled import read_labelled, read_pairs
from keras_elmo.tasks.squad import answer_tokens, read_squad, tokenize_with_offsets
from keras_elmo.tasks.squad_score import score
from keras_elmo.tasks.tags import accuracy, detect_scheme, span_scores, to_scheme
from keras_elmo.text.tokenizers import get_tokenizer


@dataclass
class Examples:
    """What a file of a task holds.

    Attributes:
        texts: dict of a model's inputs by name: lists of token lists, or of int for
            positions of marked tokens.
        gold: list, an example each: its tags, its class, or its `Question`.
        offsets: list, where each token of a question's context stands.
    """

    texts: dict[str, list]
    gold: list
    offsets: list = field(default_factory=list)

    def __len__(self):
        return len(self.gold)


class TokenClassifierTask:
    """Tags: columns of tokens and tags, CoNLL or CoNLL-U."""

    model_class = ElmoTokenClassifier

    def read(self, path, settings):
        """The `Examples` of a file."""
        tokens, tags = zip(*read_columns(path, settings.tag), strict=True)
        if settings.scheme is not None:
            tags = [to_scheme(row, settings.scheme) for row in tags]
        return Examples({"tokens": list(tokens)}, list(tags))

    def build(self, embedding, train, settings, **options):
        """A model for the classes of the training examples."""
        classes = sorted({tag for tags in train.gold for tag in tags})
        return ElmoTokenClassifier(
            embedding,
            classes,
            rnn_dim=settings.rnn_dim,
            num_rnn_layers=settings.num_rnn_layers,
            dropout=settings.dropout,
            crf=settings.crf,
            scheme=settings.scheme,
            **options,
        )

    def targets(self, model, examples):
        """What `fit` takes; a tag that training never saw does not count."""
        row = {name: i for i, name in enumerate(model.classes)}
        return [
            np.array([row.get(tag, -1) for tag in tags], "int32")
            for tags in examples.gold
        ]

    def score(self, model, inputs, examples, batch_size):
        """Accuracy, and F1 of spans where the tags mark spans."""
        rows = predict.tag_rows(model, inputs["tokens"], batch_size)
        told = [[model.classes[tag] for tag in row] for row in rows]
        scores = {"accuracy": accuracy(examples.gold, told)}
        if self.marks_spans(model.classes):
            found = span_scores(examples.gold, told)
            scores.update({name: found[name] for name in ("precision", "recall", "f1")})
        return scores

    def metric(self, model):
        """The score that training looks for the best of."""
        return "f1" if self.marks_spans(model.classes) else "accuracy"

    def marks_spans(self, classes):
        """Whether tags are those of a scheme as IOB2."""
        return detect_scheme(classes) is not None


class ClassTask:
    """What texts and pairs have in common: one class each."""

    def targets(self, model, examples):
        """What `fit` takes; a class that training never saw does not count."""
        row = {name: i for i, name in enumerate(model.classes)}
        return np.array([row.get(name, -1) for name in examples.gold], "int32")

    def score(self, model, inputs, examples, batch_size):
        """Accuracy."""
        best = predict.class_rows(model, inputs, batch_size).argmax(axis=-1)
        right = [
            model.classes[row] == name
            for row, name in zip(best, examples.gold, strict=True)
        ]
        return {"accuracy": float(np.mean(right))}

    def metric(self, model):
        """The score that training looks for the best of."""
        return "accuracy"


class TextClassifierTask(ClassTask):
    """Texts and their classes."""

    model_class = ElmoTextClassifier

    def read(self, path, settings):
        """The `Examples` of a file."""
        split = get_tokenizer(settings.tokenizer)
        examples = read_labelled(
            path,
            settings.text_column,
            settings.label_column,
            encoding=settings.encoding,
        )
        texts, labels = zip(*examples, strict=True)
        return Examples({"tokens": [split(text) for text in texts]}, list(labels))

    def build(self, embedding, train, settings, **options):
        """A model for the classes of the training examples."""
        return ElmoTextClassifier(
            embedding,
            sorted(set(train.gold)),
            kind=settings.kind,
            rnn_dim=settings.rnn_dim,
            dropout=settings.dropout,
            tokenizer=settings.tokenizer,
            **options,
        )


class PairClassifierTask(ClassTask):
    """Pairs of texts and their classes, with or without a marked token in each."""

    model_class = ElmoPairClassifier

    def read(self, path, settings):
        """The `Examples` of a file."""
        return pair_examples(
            read_pairs(path, encoding=settings.encoding), settings.tokenizer, path
        )

    def build(self, embedding, train, settings, **options):
        """A model for the classes of the training examples."""
        return ElmoPairClassifier(
            embedding,
            sorted(set(train.gold)),
            targets="first_target" in train.texts,
            rnn_dim=settings.rnn_dim,
            dropout=settings.dropout,
            tokenizer=settings.tokenizer,
            **options,
        )


class QuestionAnsweringTask:
    """Questions whose answers are spans of a text."""

    model_class = ElmoQuestionAnswering

    def read(self, path, settings):
        """The `Examples` of a file."""
        questions = read_squad(path)
        if not questions:
            raise ValueError(f"`{path}` holds no question with an answer.")
        split = {
            text: tokenize_with_offsets(text, settings.tokenizer)
            for text in {q.context for q in questions}
        }
        asked = [
            tokenize_with_offsets(q.question, settings.tokenizer) for q in questions
        ]
        return Examples(
            {
                "question": [tokens for tokens, _ in asked],
                "context": [split[q.context][0] for q in questions],
            },
            questions,
            [split[q.context][1] for q in questions],
        )

    def build(self, embedding, train, settings, **options):
        """A model; it has no classes."""
        return ElmoQuestionAnswering(
            embedding,
            rnn_dim=settings.rnn_dim,
            dropout=settings.dropout,
            tokenizer=settings.tokenizer,
            **options,
        )

    def targets(self, model, examples):
        """What `fit` takes: the first and the last token of the first answer."""
        spans = [
            answer_tokens(offsets, *question.answers[0])
            for question, offsets in zip(examples.gold, examples.offsets, strict=True)
        ]
        start, end = np.array(spans, "int32").reshape(-1, 2).T
        return {"start": start, "end": end}

    def score(self, model, inputs, examples, batch_size):
        """Exact match and F1, in percent."""
        found = predict.spans(model, inputs, batch_size)
        answers = {
            question.id: predict.answer_text(question.context, offsets, span)
            for question, offsets, span in zip(
                examples.gold, examples.offsets, found, strict=True
            )
        }
        scores = score(examples.gold, answers)
        return {name: scores[name] for name in ("exact_match", "f1")}

    def metric(self, model):
        """The score that training looks for the best of."""
        return "f1"


def pair_examples(pairs, tokenizer, path="pairs"):
    """The `Examples` of `LabelledPair`s.

    Args:
        pairs: list of `LabelledPair`.
        tokenizer: "whitespace" or "unicode", how their texts are split.
        path: what they come from, for errors.

    Raises:
        ValueError: when some pairs mark a token and others do not, or a position is
            behind its text's end.
    """
    split = get_tokenizer(tokenizer)
    texts: dict[str, list] = {
        "first": [split(pair.text_a) for pair in pairs],
        "second": [split(pair.text_b) for pair in pairs],
    }
    marked = [pair.index_a is not None for pair in pairs]
    if any(marked):
        if not all(marked):
            raise ValueError(
                f"`{path}`: pair {marked.index(False) + 1} marks no token, where "
                "others do."
            )
        texts["first_target"] = [pair.index_a for pair in pairs]
        texts["second_target"] = [pair.index_b for pair in pairs]
        for name in ("first", "second"):
            places = zip(texts[name], texts[f"{name}_target"], strict=True)
            for number, (tokens, position) in enumerate(places, 1):
                if position >= len(tokens):
                    raise ValueError(
                        f"`{path}`: pair {number} marks token {position} of a text of "
                        f"{len(tokens)}: {' '.join(tokens)!r}."
                    )
    return Examples(texts, [pair.label for pair in pairs])


TASKS = {
    "token-classifier": TokenClassifierTask(),
    "text-classifier": TextClassifierTask(),
    "pair-classifier": PairClassifierTask(),
    "question-answering": QuestionAnsweringTask(),
}
