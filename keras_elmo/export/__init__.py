"""Models for other runtimes: SavedModel, as TF Serving runs it."""

from keras_elmo.export.saved_model import export_saved_model as export_saved_model
