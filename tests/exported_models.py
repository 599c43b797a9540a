"""One exported model for all tests of a process: an export takes seconds."""

import pytest

from keras_elmo.export import export_saved_model
from tests.models_for_tests import character_backbone

_exported = []


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """(backbone, directory of versions, what the export told)."""
    pytest.importorskip("tensorflow")
    if not _exported:
        backbone = character_backbone(mix_weights=[0.2, 0.3, 0.5], gamma=1.5)
        directory = tmp_path_factory.mktemp("exported") / "elmo"
        _exported.append((backbone, directory, export_saved_model(backbone, directory)))
    return _exported[0]
