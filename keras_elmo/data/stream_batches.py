"""Batches of a corpus as continuous rows, in two streams."""

import keras
import numpy as np

from keras_elmo import checks
from keras_elmo.data.negatives import LogUniformSampler
from keras_elmo.data.stream_plan import StreamPlan
from keras_elmo.shapes import round_up
from keras_elmo.text.characters import PAD_CHARACTER_ID

# Few shapes are to be compiled: tables of distinct tokens are padded to multiples of
# the positions' TABLE_SHARE-th part. Most words need no more than SHORT_WIDTH columns
# of character ids; the few others have a table of their own.
TABLE_SHARE = 10
SHORT_WIDTH = 24


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
        shards: int, processes or devices that a batch is split over, along its rows.
        shard: int, this process' number, for its part alone; or None for the parts of
            all devices of one process.
        plan: `StreamPlan` of the epoch, or None for one that is made here.

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
        if shard is not None:
            checks.positive_int("shard", shard, minimum=0)
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
        goes_on = not (self._fresh and index == 0)
        x: dict = {
            **self._numbered(types, real),
            "carry": np.full(self.batch_size, float(goes_on), "float32"),
        }
        y = {d: np.where(real, targets[d], 0).astype("int32") for d in targets}
        weights = {d: real.astype("float32") for d in targets}
        if self._sampler is not None:
            x["negatives"] = self._negatives(self._sampler, step, y)
        if self.shard is None:
            return x, y, weights
        return keras.tree.map_structure(self._own, (x, y, weights))

    def _own(self, array):
        """This process' part of an array along its first axis."""
        size = len(array) // self.shards
        assert self.shard is not None
        return array[self.shard * size : (self.shard + 1) * size]

    def _numbered(self, types, real):
        """Each distinct token of a part once, and the parts as rows of those tables.

        Args:
            types: {direction: int (B, T)}.
            real: bool, (B, T).

        Returns:
            dict: "tokens", the parts' tables one behind the other, each with a row of
            padding first; the same for the few long words, "long_tokens"; "forward"
            and "backward", int32 (B, T), rows of both tables as if they were one.
        """
        parts = np.split(np.arange(self.batch_size), self.shards)
        distinct = [
            np.unique(np.concatenate([ids[part][real[part]] for ids in types.values()]))
            for part in parts
        ]
        ids = [self._input_ids(numbers) for numbers in distinct]
        is_long = [self._is_long(rows) for rows in ids]
        # One size for all parts: no process knows another's.
        step = round_up(max(8, len(parts[0]) * self.unroll // TABLE_SHARE), 8)
        size = round_up(1 + max(int((~long).sum()) for long in is_long), step)
        long_size = round_up(max(int(long.sum()) for long in is_long) or 1, 8)
        tokens = np.zeros((self.shards, size, *ids[0].shape[1:]), "int32")
        longs = np.zeros((self.shards, long_size, *ids[0].shape[1:]), "int32")
        found = {d: np.zeros(real.shape, "int32") for d in types}
        for number, part in enumerate(parts):
            long = is_long[number]
            tokens[number, 1 : int((~long).sum()) + 1] = ids[number][~long]
            longs[number, : int(long.sum())] = ids[number][long]
            # Processes look into one table, made of all of theirs; devices of one
            # process each into their own.
            shards, own = (1, 0) if self.shard is None else (self.shards, number)
            row = np.where(
                long,
                shards * size + own * long_size + np.cumsum(long) - 1,
                own * size + np.cumsum(~long),
            )
            for direction, numbers in types.items():
                at = np.searchsorted(distinct[number], numbers[part])
                found[direction][part] = np.where(
                    real[part], row[np.minimum(at, len(row) - 1)] if len(row) else 0, 0
                )
        if not self._has_long:
            return {"tokens": tokens.reshape(-1, *tokens.shape[2:]), **found}
        return {
            "tokens": tokens[..., :SHORT_WIDTH].reshape(-1, SHORT_WIDTH),
            "long_tokens": longs.reshape(-1, longs.shape[-1]),
            **found,
        }

    @property
    def _has_long(self):
        return self._input_kind == "characters" and self._max_characters > SHORT_WIDTH

    def _is_long(self, ids):
        """Which tokens need more than SHORT_WIDTH columns: bool, (tokens,)."""
        if not self._has_long:
            return np.zeros(len(ids), bool)
        used = (ids != PAD_CHARACTER_ID).sum(axis=1)
        # Behind the last byte all windows of a filter are equal: one is enough.
        return used + self._widest > SHORT_WIDTH

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

    def _negatives(self, sampler, step, targets):
        negatives = {}
        for number, direction in enumerate(targets):
            rng = np.random.default_rng([self.seed, self.epoch, step, number])
            ids, tries = sampler.draw(rng)
            if self.shard is None:
                ids = np.tile(ids, self.shards)  # the same for each device
            negatives[direction] = {
                "sampled_ids": ids,
                "true_expected_count": sampler.expected_count(
                    targets[direction], tries
                ),
                "sampled_expected_count": sampler.expected_count(ids, tries),
            }
        return negatives
