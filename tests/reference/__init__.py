"""ELMo in plain NumPy: what the package's numbers are compared with.

Written from Peters et al. 2018 and from the descriptions beside the golden files,
never from the package, and proved on the golden files by `test_reference.py`. All
numbers are float64, all loops are Python's, one sentence at a time: no padding, no
mask and no batch can go wrong inside it.
"""

from tests.reference.characters import (
    character_ids as character_ids,
    framed_ids as framed_ids,
)
from tests.reference.language_model import (
    bilm_loss as bilm_loss,
    softmax_loss as softmax_loss,
)
from tests.reference.many_langs import ManyLangsModel as ManyLangsModel
from tests.reference.mixing import normalized as normalized, scalar_mix as scalar_mix
from tests.reference.published import (
    PublishedModel as PublishedModel,
    from_training_names as from_training_names,
    random_weights as random_weights,
    read_hdf5 as read_hdf5,
    write_hdf5 as write_hdf5,
)
from tests.reference.recurrent import (
    LSTM as LSTM,
    encode as encode,
    run_lstm as run_lstm,
    run_stack as run_stack,
)
from tests.reference.token_vectors import (
    character_cnn as character_cnn,
    highway as highway,
    sigmoid as sigmoid,
    word_vectors as word_vectors,
)
