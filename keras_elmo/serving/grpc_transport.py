"""TF Serving's gRPC interface, by its own protocol buffers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

try:
    import grpc
    import tensorflow as tf
    from google.protobuf.json_format import MessageToDict
    from tensorflow_serving.apis import (
        get_model_metadata_pb2,
        get_model_status_pb2,
        model_service_pb2_grpc,
        predict_pb2,
        prediction_service_pb2_grpc,
    )
except ImportError as error:
    raise ImportError(
        "gRPC needs tensorflow-serving-api: pip install 'keras-elmo[serving]'; or ask "
        f"over REST, with http://HOST:8501/v1/models/NAME. ({error})"
    ) from error

from keras_elmo.serving.retries import NotNowError, refusal
from keras_elmo.serving.serving_address import ServingAddress
from keras_elmo.serving.tensor_values import to_bytes

NOT_NOW = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.ABORTED,
)
# Vectors of a batch easily pass gRPC's 4 MB; the client here tries again itself.
OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_retries", 0),
]


class GrpcTransport:
    """One question, one call; one connection for all.

    Args:
        address: the model.
        timeout: seconds from question to answer.
        headers: dict, sent along as metadata.
    """

    def __init__(
        self, address: ServingAddress, timeout: float, headers: Mapping[str, str]
    ):
        self._address = address
        self._timeout = timeout
        # Metadata's names are in lower case.
        self._metadata = [(key.lower(), value) for key, value in headers.items()]
        self._channel = (
            grpc.secure_channel(
                address.host, grpc.ssl_channel_credentials(), options=OPTIONS
            )
            if address.scheme == "grpcs"
            else grpc.insecure_channel(address.host, options=OPTIONS)
        )
        self._predictions = prediction_service_pb2_grpc.PredictionServiceStub(
            self._channel
        )
        self._models = model_service_pb2_grpc.ModelServiceStub(self._channel)

    def status(self) -> Mapping[str, Any]:
        """`GetModelStatusResponse` as JSON."""
        request = self._about_model(get_model_status_pb2.GetModelStatusRequest())
        return _as_dict(self._ask(self._models.GetModelStatus, request))

    def signatures(self) -> Mapping[str, Any]:
        """The `SignatureDef`s by name as JSON."""
        request = self._about_model(get_model_metadata_pb2.GetModelMetadataRequest())
        request.metadata_field.append("signature_def")
        told = self._ask(self._predictions.GetModelMetadata, request)
        found = get_model_metadata_pb2.SignatureDefMap()
        told.metadata["signature_def"].Unpack(found)
        return _as_dict(found)["signature_def"]

    def predict(self, signature, inputs, outputs) -> dict[str, Any]:
        """The outputs by name, those asked for only."""
        request = self._about_model(predict_pb2.PredictRequest())
        request.model_spec.signature_name = signature
        request.output_filter.extend(outputs)
        for name, (value, dtype) in inputs.items():
            tensor = (
                tf.make_tensor_proto(to_bytes(value), tf.string)
                if dtype == "object"
                else tf.make_tensor_proto(value, dtype)
            )
            request.inputs[name].CopyFrom(tensor)
        told = self._ask(self._predictions.Predict, request)
        return {name: _array(tensor) for name, tensor in told.outputs.items()}

    def close(self):
        """Ends the connection."""
        self._channel.close()

    def _about_model(self, request):
        spec = request.model_spec
        spec.name = self._address.model
        if self._address.version is not None:
            spec.version.value = self._address.version
        elif self._address.label is not None:
            spec.version_label = self._address.label
        return request

    def _ask(self, call, request):
        try:
            return call(request, timeout=self._timeout, metadata=self._metadata)
        except grpc.RpcError as error:
            code, url = error.code(), self._address.url
            if code == grpc.StatusCode.DEADLINE_EXCEEDED:
                raise NotNowError(
                    TimeoutError(f"`{url}` gave no answer in {self._timeout:g} s.")
                ) from error
            told = refusal(url, code.name, error.details() or "")
            if code in NOT_NOW:
                raise NotNowError(ConnectionError(str(told))) from error
            raise told from error


def _as_dict(message):
    return MessageToDict(
        message,
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,
    )


def _array(tensor):
    array = tf.make_ndarray(tensor)
    if array.dtype != object:
        return array
    texts = np.empty(array.shape, object)
    for place, text in np.ndenumerate(array):
        texts[place] = text.decode("utf-8", "replace")
    return texts
