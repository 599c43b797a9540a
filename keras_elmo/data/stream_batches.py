"""Batches of a corpus as continuous rows, in two streams."""

import keras
import numpy as np

from keras_elmo import checks
from keras_elmo.data.negatives import LogUniformSampler
from keras_elmo.data.stream_plan import StreamPlan
from keras_elmo.shapes import round_up
from keras_elmo.text.characters import PAD_CHARACTER_ID

# Few shapes are to be compiled: tables of distinct tokens are padded to multiples of
# the positions' TABLE_SHARE-th part, character ids cut to one of WIDTHS columns.
TABLE_SHARE = 10
WIDTHS = (24, 32)


class StreamBatches(keras.utils.PyDataset):
    """Part of an epoch: rows that go on from batch to batch, and the same backward.

    Each row reads `<S>` words `</S>` `<S>` words `</S>` ...; the backward rows are a
    stream of their own that holds the same sentences in the same order, each reversed.
    Each direction has words + 1 targets a sentence. Where a row has come to its end
    the weights are 0; nothing is dropped.

    Batch i is a function of (seed, epoch, start + i) alone, however often and in
    whatever order batches are read.

    Args:
        corpus: `Corpus`.
        backbone: `ElmoBackbone` the batches are for.
        batch_size: int, rows (B).
        unroll: int, positions a row (T).
        seed: int.
        epoch: int, of the order of sentences.
        start: int, the first batch's number in the epoch.
        steps: int, batches, or None for all to the end of the epoch.
        shuffle: bool. False keeps the order of the corpus.
        num_negatives: int, words a sampled softmax is taken over (n), or None for the
            full softmax.
        fresh: bool. The first batch starts from zero state: for held-out text.
        shards: int, processes or devices a batch is split over, along its rows.
        shard: int, the part that is made here, or None for all parts, one behind the
            other, each with numbers into its own part of the table.

    Yields (x, y, sample_weight) as `ElmoBiLM` takes them, with "carry".

    Raises:
        ValueError: when the corpus has no sentence, or an argument is out of range.
    """

    def __init__(
        self,
        corpus,
        backbone,
        batch_size: int = 32,
        unroll: int = 20,
        *,
        seed: int = 0,
        epoch: int = 0,
        start: int = 0,
        steps: int | None = None,
        shuffle: bool = True,
        num_negatives: int | None = None,
        fresh: bool = False,
        shards: int = 1,
        shard: int | None = 0,
        plan: StreamPlan | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.batch_size = checks.positive_int("batch_size", batch_size)
        self.unroll = checks.positive_int("unroll", unroll)
        self.seed = checks.positive_int("seed", seed, minimum=0)
        self.epoch = checks.positive_int("epoch", epoch, minimum=0)
        self.start = checks.positive_int("start", start, minimum=0)
        self.shards = checks.positive_int("shards", shards)
        self.shard = shard
        if self.batch_size % self.shards or (num_negatives or 0) % self.shards:
            raise ValueError(
                f"`batch_size` (={batch_size}) and `num_negatives` (={num_negatives}) "
                f"must be multiples of the number of processes or devices (={shards})."
            )
        if len(corpus) == 0:
            raise ValueError(
                "`corpus` must hold at least one sentence. Received: none."
            )
        self._corpus = corpus
        self._input_kind = backbone.input_kind
        self._max_characters = backbone.max_characters_per_token
        self._widest = max(
            (width for width, _ in backbone.char_cnn_filters or []), default=0
        )
        self._plan = plan or StreamPlan(
            corpus.offsets, batch_size, seed, epoch, shuffle
        )
        in_epoch = self._plan.steps(unroll)
        self.steps = in_epoch - start if steps is None else steps
        if self.steps < 0 or start + self.steps > in_epoch:
            raise ValueError(
                f"`start` (={start}) and `steps` (={steps}) must lie within the "
                f"{in_epoch} steps of the epoch."
            )
        self._fresh = bool(fresh)
        vocabulary = corpus.vocabulary
        self._sampler = (
            None
            if num_negatives is None
            else LogUniformSampler(len(vocabulary), num_negatives)
        )
        self._begin = vocabulary.begin_sentence_id - 1
        self._end = vocabulary.end_sentence_id - 1

    def __len__(self):
        return self.steps

    def __getitem__(self, index):
        step = self.start + index
        types, targets, real = self._streams(step)
        rows = self.batch_size // self.shards
        tables, numbers = [], []
        for part in range(self.shards):
            own = slice(part * rows, (part + 1) * rows)
            masks = real[own]
            used = np.concatenate([types[d][own][masks] for d in types])
            table = np.unique(used)
            number = {}
            for direction, ids in types.items():
                number[direction] = np.where(
                    masks, np.searchsorted(table, ids[own]) + 1, 0
                ).astype("int32")
            tables.append(table)
            numbers.append(number)
        # One size for all parts, found from the whole batch: no part knows another's.
        step_size = round_up(max(8, rows * self.unroll // TABLE_SHARE), 8)
        size = round_up(max(map(len, tables)) + 1, step_size)
        ids = [self._input_ids(table) for table in tables]
        tokens = np.zeros((self.shards, size, *ids[0].shape[1:]), "int32")
        for part, rows_of_part in enumerate(ids):
            tokens[part, 1 : len(rows_of_part) + 1] = rows_of_part
        if self._input_kind == "characters":
            tokens = tokens[..., : self._width(ids)]
        x = {
            "tokens": tokens.reshape(-1, *tokens.shape[2:]),
            "carry": np.full(
                self.batch_size, 0.0 if self._fresh and index == 0 else 1.0, "float32"
            ),
        }
        for direction in types:
            x[direction] = np.concatenate([n[direction] for n in numbers])
        y = {d: np.where(real, targets[d], 0).astype("int32") for d in targets}
        weights = {d: real.astype("float32") for d in targets}
        if self._sampler is not None:
            x["negatives"] = self._negatives(step, y)
        if self.shards > 1 and self.shard is not None:
            # Processes: each gives its rows, and the table is one of all processes.
            offsets = np.repeat(np.arange(self.shards) * size, rows)[:, None]
            for direction in types:
                moved = x[direction] + offsets
                x[direction] = np.where(real, moved, 0).astype("int32")
            return keras.tree.map_structure(self._own, (x, y, weights))
        return x, y, weights

    def _own(self, array):
        return np.split(array, self.shards)[self.shard]

    def _streams(self, step):
        """Types of inputs, targets of both directions, and what is real: (B, T)."""
        window = self._plan.window(step, self.unroll)
        start, length, position = (
            window[name] for name in ("start", "length", "position")
        )
        tokens = self._corpus.tokens

        def word(number):
            """The sentence's word of that number, where it has one."""
            inside = (number >= 0) & (number < length)
            return tokens[np.where(inside, start + number, 0)]

        is_first, is_last = position == 0, position == length
        inputs = {
            "forward": np.where(is_first, self._begin, word(position - 1)),
            "backward": np.where(is_first, self._end, word(length - position)),
        }
        targets = {
            "forward": np.where(is_last, self._end, word(position)),
            "backward": np.where(is_last, self._begin, word(length - position - 1)),
        }
        targets = {d: self._corpus.targets(types) for d, types in targets.items()}
        return inputs, targets, window["real"]

    def _input_ids(self, types):
        return self._corpus.input_ids(types, self._input_kind, self._max_characters)

    def _width(self, tables):
        """Columns of character ids that are enough for these tokens."""
        used = [(ids != PAD_CHARACTER_ID).sum(axis=1).max(initial=0) for ids in tables]
        # Behind the last byte all windows of a filter are equal: one is enough.
        wanted = min(max(used) + self._widest, self._max_characters)
        fitting = [width for width in WIDTHS if wanted <= width]
        return min([*fitting, self._max_characters])

    def _negatives(self, step, targets):
        negatives = {}
        for number, direction in enumerate(targets):
            rng = np.random.default_rng([self.seed, self.epoch, step, number])
            ids, tries = self._sampler.draw(rng)
            negatives[direction] = {
                "sampled_ids": ids,
                "true_expected_count": self._sampler.expected_count(
                    targets[direction], tries
                ),
                "sampled_expected_count": self._sampler.expected_count(ids, tries),
            }
        return negatives
