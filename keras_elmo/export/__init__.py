"""Models for other runtimes: SavedModel, as TF Serving runs it, and files of graphs."""

from keras_elmo.export.graph import (
    export_graph as export_graph,
    load_graph as load_graph,
)
from keras_elmo.export.saved_model import export_saved_model as export_saved_model
