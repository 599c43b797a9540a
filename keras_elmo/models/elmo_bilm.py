"""The bidirectional language model: the backbone's two directions and one softmax."""

import keras
from keras import ops

from keras_elmo import checks
from keras_elmo.layers.bilm_softmax import BiLMSoftmax
from keras_elmo.layers.carried_state import DIRECTIONS, CarriedState
from keras_elmo.layers.sampled_softmax import SampledSoftmax
from keras_elmo.models.perplexity import Perplexity
from keras_elmo.randomness import seeded_dropout


@keras.saving.register_keras_serializable(package="keras_elmo")
class ElmoBiLM(keras.Model):
    """Predicts each token from those before it, and from those behind it.

    The directions are two streams of their own: the backward one runs backward
    already. Both hold the sentence markers: the first token's left context is `<S>`,
    the last token's right context is `</S>`. Loss: the mean of both directions' mean
    negative log-likelihood.

    Args:
        backbone: `ElmoBackbone`, whose weights are trained.
        vocabulary_size: int, number of words that are predicted (V), or None for the
            backbone's word table.
        tie_embeddings: bool. The softmax's matrix is the word table (word input), with
            a bias of its own.
        batch_size: int, rows of the streams whose state is carried from batch to
            batch, or None for a model that starts each row from zeros.
        loss_scale: float, what the training loss is multiplied with before its
            gradient is taken; bilm-tf's is the number of unrolled steps. Logs show
            the plain loss.

    Call arguments:
        inputs: dict. int32 "forward" and "backward", (batch, time), rows of "tokens";
            "tokens", (U, C) character ids or (U,) token ids, each distinct token
            once. Row 0 of "tokens" is padding. "long_tokens", (U', C'), where there,
            are further rows, of words with more characters than most: the rows of
            both count as one table's. With "carry", float32 (batch,), each
            row starts from the state that its last batch ended in, times its number:
            1 to go on, 0 to start anew. Training and evaluation have a state each.
            For a sampled softmax "negatives": for each direction a dict of
            "sampled_ids" (n,), "true_expected_count" (batch, time) and
            "sampled_expected_count" (n,).

    Returns:
        dict of floats in the compute dtype, "forward" and "backward", each
        (batch, time, P): the top layers, before the softmax.

    `fit` and `evaluate` take targets of the same form, int32 rows of the vocabulary,
    and weights, 1 where a target counts and 0 where not. The logs have perplexities
    where the softmax is the full one.

    Raises:
        ValueError: when arguments contradict the backbone, targets or weights are
            missing, or a state is to be carried and there is none.

    Reference: Peters et al. 2018, section 3.1; bilm-tf `bilm/training.py`,
    `LanguageModel`.

    Example:
    ```python
    sentences = [["the", "bank", "."], ["the", "river"]]
    vocabulary = keras_elmo.text.build_vocabulary(sentences)
    backbone = keras_elmo.ElmoBackbone(
        hidden_dim=16, projection_dim=4, vocabulary_size=len(vocabulary)
    )
    backbone.vocabulary = vocabulary
    model = keras_elmo.ElmoBiLM(backbone, tie_embeddings=True)
    keras_elmo.training.perplexity(model, sentences, vocabulary)
    ```
    """

    def __init__(
        self,
        backbone,
        vocabulary_size=None,
        tie_embeddings=False,
        batch_size=None,
        loss_scale=1.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if backbone.input_kind not in ("characters", "words"):
            raise ValueError(
                "`backbone` must be one that is pretrained here or read from bilm-tf's "
                f"files. Received: a backbone of input {backbone.input_kind!r}, "
                "ELMoForManyLangs', whose softmax is not published."
            )
        if vocabulary_size is None:
            vocabulary_size = backbone.vocabulary_size
        if vocabulary_size is None:
            raise ValueError(
                "`vocabulary_size` must be given for a backbone that reads characters."
            )
        if tie_embeddings and vocabulary_size != backbone.vocabulary_size:
            raise ValueError(
                "`tie_embeddings` needs a backbone of word input with a table of "
                f"`vocabulary_size` (={vocabulary_size}) rows. Received: "
                f"{backbone.vocabulary_size}."
            )
        self.backbone = backbone
        self.vocabulary_size = vocabulary_size
        self.tie_embeddings = bool(tie_embeddings)
        self.softmax = BiLMSoftmax(
            vocabulary_size, tied=tie_embeddings, dtype=self.dtype_policy
        )
        self.softmax.build((None, None, backbone.projection_dim))
        self.sampled_softmax = SampledSoftmax(dtype=self.dtype_policy)
        self.top_dropout = seeded_dropout(backbone.dropout, dtype=self.dtype_policy)
        self.batch_size = batch_size
        self.loss_scale = checks.positive_float("loss_scale", loss_scale)
        self.training_state = self.held_out_state = None
        if batch_size is not None:
            sizes = (
                checks.positive_int("batch_size", batch_size),
                backbone.num_layers,
                backbone.hidden_dim,
                backbone.projection_dim,
            )
            self.training_state = CarriedState(*sizes, name="training_state")
            self.held_out_state = CarriedState(*sizes, name="held_out_state")
        self.metrics_of = {
            direction: Perplexity(name=f"{direction}_perplexity")
            for direction in DIRECTIONS
        }
        self._is_sampled = False
        self.built = True

    @classmethod
    def from_preset(cls, preset, dtype=None, **options):
        """The language model of a preset directory that has one.

        Args:
            preset: what `ElmoBackbone.from_preset` takes.
            dtype: dtype policy, or None for the preset's own.
            **options: further arguments of `ElmoBiLM`: `batch_size`, `loss_scale`.

        Returns:
            `ElmoBiLM`.

        Raises:
            ValueError: when the preset has the layers below the softmax alone.
        """
        from keras_elmo.presets_head import load_language_model

        return load_language_model(preset, dtype=dtype, **options)

    def save_to_preset(self, preset_dir, overwrite=False, weights_dtype="float32"):
        """Writes the language model as a preset directory, whole or not at all.

        Args:
            preset_dir: path of the directory to make.
            overwrite: bool. Replace what is there.
            weights_dtype: "float32" or "float16", which halves the files.
        """
        from keras_elmo.presets_head import save_language_model

        save_language_model(self, preset_dir, overwrite, weights_dtype)

    def call(self, inputs, training=None):
        embed = self.backbone.token_embedder
        is_cnn = self.backbone.input_kind == "characters"
        options = {"training": training} if is_cnn else {}
        vectors = embed(inputs["tokens"], **options)
        if "long_tokens" in inputs:
            long_vectors = embed(inputs["long_tokens"], **options)
            vectors = ops.concatenate([vectors, long_vectors], axis=0)
        encoder = self.backbone.encoder
        carry = inputs.get("carry")
        state = None
        if carry is not None:
            state = self.training_state if training else self.held_out_state
            if state is None:
                raise ValueError(
                    "A model needs `batch_size` (=None) to carry the state of its "
                    "rows: ElmoBiLM(..., batch_size=rows)."
                )
        outputs = {}
        for direction, stack in (
            ("forward", encoder.forward_stack),
            ("backward", encoder.backward_stack),
        ):
            rows = inputs[direction]
            layers, last = stack(
                ops.take(vectors, rows, axis=0),
                mask=ops.not_equal(rows, 0),
                initial_state=state and state.read(direction, carry),
                return_state=True,
                training=training,
            )
            if state is not None:
                state.write(direction, last)
            outputs[direction] = self.top_dropout(layers[-1], training=training)
        return outputs

    @property
    def softmax_kernel(self):
        """The softmax's matrix, (V, P): its own, or the word table where tied."""
        if self.tie_embeddings:
            return self.backbone.token_embedder.table
        return self.softmax.kernel

    def nll(self, hidden, targets):
        """Negative log-likelihood of targets: float32, (batch, time)."""
        table = self.softmax_kernel if self.tie_embeddings else None
        return self.softmax(hidden, targets, table=table)

    def sampled_nll(self, hidden, targets, negatives):
        """As `nll`, with the sampled softmax over `negatives`, a dict (see above)."""
        return self.sampled_softmax(
            hidden,
            targets,
            kernel=ops.convert_to_tensor(self.softmax_kernel),
            bias=ops.convert_to_tensor(self.softmax.bias),
            **negatives,
        )

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        if y is None or y_pred is None or sample_weight is None:
            raise ValueError(
                "`fit` and `evaluate` must be given (inputs, targets, weights), each a "
                "dict of both directions. Received: no targets or no weights."
            )
        negatives = None if x is None else x.get("negatives")
        # Known while a function is traced: `get_metrics_result` follows in the same.
        self._is_sampled = negatives is not None
        losses = []
        for direction in DIRECTIONS:
            hidden, targets = y_pred[direction], y[direction]
            if negatives is None:
                values = self.nll(hidden, targets)
            else:
                values = self.sampled_nll(hidden, targets, negatives[direction])
            weight = ops.cast(sample_weight[direction], "float32")
            if negatives is None:
                self.metrics_of[direction].update_state(values, sample_weight=weight)
            losses.append(ops.sum(values * weight) / ops.maximum(ops.sum(weight), 1.0))
        loss = 0.5 * (losses[0] + losses[1])
        for extra in self.losses:
            loss = loss + ops.cast(extra, "float32")
        if training and self.loss_scale != 1.0:
            # The value stays plain for the logs; the gradient is that of loss * scale.
            loss = loss + (self.loss_scale - 1.0) * (loss - ops.stop_gradient(loss))
        return loss

    def get_metrics_result(self):
        result = super().get_metrics_result()
        if self._is_sampled:
            # The sampled softmax's loss is no perplexity of the model.
            for metric in self.metrics_of.values():
                result.pop(metric.name, None)
        return result

    def get_config(self):
        config = super().get_config()
        config.update(
            backbone=keras.saving.serialize_keras_object(self.backbone),
            vocabulary_size=self.vocabulary_size,
            tie_embeddings=self.tie_embeddings,
            batch_size=self.batch_size,
            loss_scale=self.loss_scale,
        )
        return config

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """The model of a `get_config`, with new weights."""
        config = dict(config)
        config["backbone"] = keras.saving.deserialize_keras_object(
            config["backbone"], custom_objects=custom_objects
        )
        return cls(**config)
