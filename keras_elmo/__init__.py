"""ELMo in Keras 3: contextual word vectors from bidirectional language models.

Importing the package registers every class with Keras, so that `.keras` files that
hold them load without `custom_objects`.
"""

from keras_elmo._requirements import require_backend

require_backend()

from keras_elmo import text as text  # noqa: E402
from keras_elmo._version import __version__ as __version__  # noqa: E402
from keras_elmo.embed import embed as embed  # noqa: E402
from keras_elmo.embed import embed_iter as embed_iter  # noqa: E402
from keras_elmo.layers import (  # noqa: E402
    AddSentenceMarkers as AddSentenceMarkers,
)
from keras_elmo.layers import BiLMEncoder as BiLMEncoder  # noqa: E402
from keras_elmo.layers import CharacterCNN as CharacterCNN  # noqa: E402
from keras_elmo.layers import Highway as Highway  # noqa: E402
from keras_elmo.layers import LSTMStack as LSTMStack  # noqa: E402
from keras_elmo.layers import ProjectedLSTM as ProjectedLSTM  # noqa: E402
from keras_elmo.layers import (  # noqa: E402
    RemoveSentenceMarkers as RemoveSentenceMarkers,
)
from keras_elmo.layers import ScalarMix as ScalarMix  # noqa: E402
from keras_elmo.layers import WordEmbedding as WordEmbedding  # noqa: E402
from keras_elmo.models import ElmoBackbone as ElmoBackbone  # noqa: E402
from keras_elmo.text import Vocabulary as Vocabulary  # noqa: E402
