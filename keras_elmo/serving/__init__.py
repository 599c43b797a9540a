"""Asks a model server, TF Serving or one with its interface, over REST or gRPC."""

from keras_elmo.serving.serving_client import ServingClient as ServingClient
from keras_elmo.serving.tensor_values import rows as rows
