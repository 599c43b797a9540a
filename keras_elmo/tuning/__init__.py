"""Search of hyperparameters with KerasTuner, for the biLM and for tasks."""

try:
    import keras_tuner as _keras_tuner
except ImportError as error:
    raise ImportError(
        f"Tuning needs KerasTuner: pip install 'keras-elmo[tuner]'. ({error})"
    ) from error

from keras_elmo.tuning.bilm_hypermodel import BiLMHyperModel as BiLMHyperModel
from keras_elmo.tuning.ranges import read_ranges as read_ranges
from keras_elmo.tuning.search import Search as Search
from keras_elmo.tuning.task_hypermodel import ElmoTaskHyperModel as ElmoTaskHyperModel

del _keras_tuner
