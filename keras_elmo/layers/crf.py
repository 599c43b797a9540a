"""A linear-chain conditional random field: scores of whole sequences of tags."""

import keras
from keras import ops

from keras_elmo import checks
from keras_elmo.backend import max_over, scan

# Of a move that is forbidden. Not infinite: its gradient would not be a number.
_FORBIDDEN = -1e4


@keras.saving.register_keras_serializable(package="keras_elmo")
class CRF(keras.layers.Layer):
    """Scores sequences of tags by their moves from tag to tag.

    The score of tags `y` of a sentence is `start[y_1] + sum_t emissions[t, y_t] +
    sum_t transitions[y_t, y_t+1] + end[y_n]`; the odds of sequences are the softmax of
    their scores. Real tokens come first in a row, padding behind them.

    Args:
        num_tags: int.
        constraints: None, or dict of nested lists of bool, as
            `keras_elmo.tasks.tags.allowed_transitions` makes it: "transitions"
            (num_tags, num_tags), "start" and "end" (num_tags,), False where a move
            must not be. It has no odds then, in training as in decoding, as long as
            scores are far from 10,000, which is what it costs.
        regularizer: keras regularizer of the transitions.

    Call arguments:
        inputs: float, (batch, time, num_tags): each tag's score for each token.
        mask: bool, (batch, time), or None.

    Returns:
        the inputs, with their mask: what `nll`, `decode` and `marginals` take.

    Reference: Lafferty et al. 2001; Lample et al. 2016, section 2.2.

    Example:
    ```python
    crf = keras_elmo.CRF(num_tags=3)
    emissions = crf(keras.random.normal((2, 5, 3)))
    mask = keras.ops.ones((2, 5), dtype="bool")
    tags = crf.decode(emissions, mask)  # (2, 5)
    loss = crf.nll(emissions, tags, mask)  # (2,)
    ```
    """

    def __init__(self, num_tags, constraints=None, regularizer=None, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.num_tags = checks.positive_int("num_tags", num_tags)
        self.constraints = None if constraints is None else dict(constraints)
        self.regularizer = keras.regularizers.get(regularizer)
        shapes = {
            "transitions": (self.num_tags, self.num_tags),
            "start": (self.num_tags,),
            "end": (self.num_tags,),
        }
        self._shapes = shapes
        self._costs = dict.fromkeys(shapes)
        for name, allowed in (self.constraints or {}).items():
            if name not in shapes or _shape(allowed) != shapes[name]:
                raise ValueError(
                    f"`constraints` must hold lists of the shapes {shapes}. Received: "
                    f"{name!r} of shape {_shape(allowed)}."
                )
            self._costs[name] = _costs(allowed)

    def build(self, input_shape):
        if input_shape[-1] != self.num_tags:
            rule = f"of {self.num_tags} scores a token"
            raise ValueError(checks.received("inputs", input_shape, rule))
        for name, shape in self._shapes.items():
            weight = self.add_weight(
                name=name,
                shape=shape,
                initializer="zeros",
                regularizer=self.regularizer if name == "transitions" else None,
                dtype="float32",
                autocast=False,
            )
            setattr(self, f"_{name}", weight)

    def call(self, inputs, mask=None):
        # Not the same tensor: it would get the outputs' mask.
        return ops.copy(inputs)

    def _scores(self, name):
        """The weights of moves, far below all others where they are forbidden."""
        # Not the variable: on TensorFlow, Keras takes what is added to one for a bias
        # where it can be squeezed to one axis, as for a batch of one sentence.
        weight = getattr(self, f"_{name}").value
        if self._costs[name] is None:
            return weight
        return weight + ops.convert_to_tensor(self._costs[name], "float32")

    def nll(self, emissions, tags, mask):
        """Negative log-likelihood of tags.

        Args:
            emissions: float, (batch, time, num_tags).
            tags: int, (batch, time); what stands behind the real tokens is not read.
            mask: bool, (batch, time), real tokens first.

        Returns:
            float32, (batch,); 0 for a row without a token.
        """
        emissions = ops.cast(emissions, "float32")
        mask = ops.cast(mask, "bool")
        # One-hot on torch refuses what is no tag, behind the real tokens too.
        tags = ops.where(mask, tags, ops.zeros_like(tags))
        _, last = self._forward(emissions, mask)
        normalizer = _log_sum_exp(last + self._scores("end"), axis=-1)
        score = self._score(emissions, tags, ops.cast(mask, "float32"))
        any_token = ops.any(mask, axis=-1)
        return ops.where(any_token, normalizer - score, ops.zeros_like(score))

    def _score(self, emissions, tags, mask):
        picked = ops.one_hot(tags, self.num_tags, dtype="float32") * mask[:, :, None]
        emitted = ops.where(picked > 0, emissions, ops.zeros_like(emissions))
        score = ops.sum(emitted, axis=(1, 2))
        moves = ops.matmul(picked[:, :-1], self._scores("transitions"))
        score = score + ops.sum(moves * picked[:, 1:], axis=(1, 2))
        none = ops.zeros_like(mask[:, :1])
        before = ops.concatenate([none, mask], axis=1)[:, :-1]
        behind = ops.concatenate([mask, none], axis=1)[:, 1:]
        for name, place in (("start", mask - before), ("end", mask - behind)):
            tag = ops.sum(picked * place[:, :, None], axis=1)
            score = score + ops.matmul(tag, self._scores(name)[:, None])[:, 0]
        return score

    def _forward(self, emissions, mask):
        """Each tag's score with all that leads to it: every step's, and the last."""
        transitions = self._scores("transitions")

        def step(state, inputs):
            (alpha,), (emission, real, first) = state, inputs
            led = _log_sum_exp(alpha[:, :, None] + transitions, axis=1)
            new = ops.where(first, alpha, led) + emission
            return [ops.where(real, new, alpha)]

        (last,), alphas = scan(
            step, [self._row("start", emissions)], self._steps(emissions, mask)
        )
        return alphas, last

    def _row(self, name, emissions):
        """The weights of moves for each sentence: (batch, num_tags)."""
        batch = ops.shape(emissions)[0]
        return ops.zeros((batch, self.num_tags), "float32") + self._scores(name)

    def _steps(self, emissions, mask):
        """Emissions, mask and whether it is the first step: time comes first."""
        emissions = ops.swapaxes(emissions, 0, 1)
        time = ops.shape(emissions)[0]
        first = ops.equal(ops.arange(time), 0)[:, None, None]
        return [emissions, ops.swapaxes(mask, 0, 1)[:, :, None], first]

    def decode(self, emissions, mask):
        """The best sequence of tags (Viterbi).

        Args:
            emissions: float, (batch, time, num_tags).
            mask: bool, (batch, time), real tokens first.

        Returns:
            int32, (batch, time); 0 behind the real tokens.
        """
        emissions = ops.cast(emissions, "float32")
        mask = ops.cast(mask, "bool")
        transitions = self._scores("transitions")
        same = ops.arange(self.num_tags, dtype="int32")[None]

        def forward(state, inputs):
            (_, alpha), (emission, real, first) = state, inputs
            moves = alpha[:, :, None] + transitions
            came_from = ops.cast(ops.argmax(moves, axis=1), "int32")
            new = ops.where(first, alpha, max_over(moves, axis=1)) + emission
            stays = ops.logical_or(first, ops.logical_not(real))
            return [
                ops.where(stays, same, came_from),
                ops.where(real, new, alpha),
            ]

        alpha = self._row("start", emissions)
        pointers = ops.zeros_like(alpha, dtype="int32")
        (_, alpha), pointers = scan(
            forward, [pointers, alpha], self._steps(emissions, mask)
        )
        best = ops.cast(ops.argmax(alpha + self._scores("end"), axis=-1), "int32")

        def backward(state, inputs):
            picked = ops.equal(same, state[0][:, None])
            return [ops.sum(ops.where(picked, inputs[0], 0), axis=-1)]

        _, path = scan(backward, [best], [ops.flip(pointers, axis=0)])
        # Each step's pointer leads to the tag before it, the first step's to itself.
        path = ops.concatenate([best[None], ops.cast(path, "int32")], axis=0)[:-1]
        path = ops.swapaxes(ops.flip(path, axis=0), 0, 1)
        return ops.where(mask, path, ops.zeros_like(path))

    def marginals(self, emissions, mask):
        """Each tag's odds for each token, over all sequences (forward-backward).

        Args:
            emissions: float, (batch, time, num_tags).
            mask: bool, (batch, time), real tokens first.

        Returns:
            float32, (batch, time, num_tags); 0 behind the real tokens.
        """
        emissions = ops.cast(emissions, "float32")
        mask = ops.cast(mask, "bool")
        alphas, _ = self._forward(emissions, mask)
        transitions = self._scores("transitions")

        def step(state, inputs):
            (beta,), (emission, real, _) = state, inputs
            follows = transitions + (emission + beta)[:, None, :]
            return [ops.where(real, _log_sum_exp(follows, axis=2), beta)]

        end = self._row("end", emissions)
        steps = [ops.flip(x, axis=0) for x in self._steps(emissions, mask)]
        _, betas = scan(step, [end], steps)
        betas = ops.flip(ops.concatenate([end[None], betas], axis=0)[:-1], axis=0)
        scores = ops.swapaxes(alphas + betas, 0, 1)
        # By hand: Keras warns of a softmax over one tag.
        odds = ops.exp(scores - _log_sum_exp(scores, axis=-1)[..., None])
        return ops.where(mask[:, :, None], odds, ops.zeros_like(odds))

    def compute_mask(self, inputs, mask=None):
        return mask

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        config = super().get_config()
        config.update(
            num_tags=self.num_tags,
            constraints=self.constraints,
            regularizer=keras.regularizers.serialize(self.regularizer),
        )
        return config


def _log_sum_exp(x, axis):
    """`keras.ops.logsumexp` for a batch of nothing too, which Keras' refuses."""
    largest = ops.stop_gradient(max_over(x, axis))
    parts = ops.exp(x - ops.expand_dims(largest, axis))
    return largest + ops.log(ops.sum(parts, axis=axis))


def _shape(nested):
    """Sizes of nested lists, None for lists of unlike sizes."""
    if not isinstance(nested, list | tuple):
        return ()
    shapes = {_shape(part) for part in nested}
    inner = shapes.pop() if len(shapes) == 1 else ()
    return None if shapes or inner is None else (len(nested), *inner)


def _costs(allowed):
    if isinstance(allowed, list | tuple):
        return [_costs(part) for part in allowed]
    return 0.0 if allowed else _FORBIDDEN
