"""A model server in this process that answers as TF Serving does, for tests alone.

REST and gRPC over an exported directory. The rules are those of TF Serving's sources:
`util/json_tensor.cc` (JSON to tensors and back), `model_servers/http_rest_api_util.cc`
(paths), `model_servers/http_server.cc` (status codes) and
`servables/tensorflow/predict_util.cc` (what a request must hold).
"""

import contextlib
import http.server
import json
import re
import threading
import time
from concurrent import futures
from pathlib import Path
from urllib.parse import unquote

import grpc
import tensorflow as tf
from google.protobuf.json_format import MessageToDict, MessageToJson
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from tests.serving.json_tensors import ServerError, inputs_from_json, outputs_to_json

HTTP_STATUS = {
    grpc.StatusCode.CANCELLED: 499,
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.OUT_OF_RANGE: 400,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ABORTED: 409,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
}
CODES = {code.value[0]: code for code in grpc.StatusCode}
WHICH = r"(?:/versions/(\d+)|/labels/([^/:]+))?"
PREDICT = re.compile(rf"/v1/models/([^/:]+){WHICH}:predict", re.IGNORECASE)
LOOK = re.compile(rf"/v1/models/([^/:]+){WHICH}(/metadata)?", re.IGNORECASE)


class ServedModel:
    """The highest version of a directory, and what its signatures say."""

    def __init__(self, name, directory):
        self.name = name
        self.version = max(int(p.name) for p in Path(directory).iterdir())
        path = Path(directory) / str(self.version)
        self._loaded = tf.saved_model.load(str(path))
        content = saved_model_pb2.SavedModel()
        content.ParseFromString((path / "saved_model.pb").read_bytes())
        self.signatures = content.meta_graphs[0].signature_def

    def check(self, spec):
        """Whether a request means this model."""
        label = spec.version_label
        wanted = spec.version.value if spec.HasField("version") else self.version
        if label:
            told = f"Unrecognized servable version label: {label}"
            raise ServerError(grpc.StatusCode.INVALID_ARGUMENT, told)
        if spec.name != self.name or wanted != self.version:
            which = "Specific" if spec.HasField("version") else "Latest"
            of = f"{spec.name}, {wanted}" if which == "Specific" else spec.name
            told = f"Servable not found for request: {which}({of})"
            raise ServerError(grpc.StatusCode.NOT_FOUND, told)

    def predict(self, request):
        """`PredictResponse` of a `PredictRequest`."""
        self.check(request.model_spec)
        name = request.model_spec.signature_name or "serving_default"
        if name not in self.signatures:
            told = f'Serving signature key "{name}" not found.'
            raise ServerError(grpc.StatusCode.FAILED_PRECONDITION, told)
        signature = self.signatures[name]
        if set(request.inputs) != set(signature.inputs):
            told = (
                "input size does not match signature: "
                f"{len(request.inputs)}!={len(signature.inputs)}"
            )
            raise ServerError(grpc.StatusCode.INVALID_ARGUMENT, told)
        for key in request.output_filter:
            if key not in signature.outputs:
                told = f"output tensor alias not found in signature: {key}"
                raise ServerError(grpc.StatusCode.INVALID_ARGUMENT, told)
        inputs = {}
        for key, tensor in request.inputs.items():
            if tensor.dtype != signature.inputs[key].dtype:
                told = f"Expected another type of tensor for input {key}"
                raise ServerError(grpc.StatusCode.INVALID_ARGUMENT, told)
            inputs[key] = tf.constant(tf.make_ndarray(tensor))
        try:
            found = self._loaded.signatures[name](**inputs)
        except tf.errors.OpError as error:
            raise ServerError(CODES[error.error_code], error.message) from error
        except (TypeError, ValueError) as error:  # shapes that Python refuses first
            raise ServerError(grpc.StatusCode.INVALID_ARGUMENT, str(error)) from error
        response = predict_pb2.PredictResponse()
        response.model_spec.name = self.name
        response.model_spec.signature_name = name
        response.model_spec.version.value = self.version
        for key in request.output_filter or signature.outputs:
            response.outputs[key].CopyFrom(tf.make_tensor_proto(found[key]))
        return response

    def status(self, spec):
        """`GetModelStatusResponse`."""
        self.check(spec)
        response = get_model_status_pb2.GetModelStatusResponse()
        told = response.model_version_status.add(version=self.version)
        told.state = get_model_status_pb2.ModelVersionStatus.AVAILABLE
        told.status.error_code = 0
        return response

    def metadata(self, spec):
        """`GetModelMetadataResponse`."""
        self.check(spec)
        response = get_model_metadata_pb2.GetModelMetadataResponse()
        response.model_spec.name = self.name
        response.model_spec.version.value = self.version
        found = get_model_metadata_pb2.SignatureDefMap()
        for name, signature in self.signatures.items():
            found.signature_def[name].CopyFrom(signature)
        response.metadata["signature_def"].Pack(found)
        return response


class ModelServer:
    """REST and gRPC on free ports of this machine, until `close`.

    `faults` are what the next requests meet in place of an answer: a `ServerError`, a
    number of seconds to be silent, "reset" to close the connection, or (HTTP status,
    headers, body). `asked` are the requests that came: method, path, headers, body.
    """

    def __init__(self, name, directory):
        self.model = ServedModel(name, directory)
        self.faults = []
        self.asked = []
        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()
        self._grpc = grpc.server(futures.ThreadPoolExecutor(40))
        port = self._grpc.add_insecure_port("127.0.0.1:0")
        servicer = _Servicer(self)
        prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
            servicer, self._grpc
        )
        model_service_pb2_grpc.add_ModelServiceServicer_to_server(servicer, self._grpc)
        self._grpc.start()
        self.rest = f"http://127.0.0.1:{self._http.server_port}/v1/models/{name}"
        self.grpc = f"grpc://127.0.0.1:{port}/{name}"

    def close(self):
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        self._grpc.stop(None).wait()

    def fault(self):
        return self.faults.pop(0) if self.faults else None

    def _handler(self):
        server = self

        class Handler(_Handler):
            model_server = server

        return Handler


class _Handler(http.server.BaseHTTPRequestHandler):
    model_server: ModelServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self._reply(LOOK.fullmatch(self.path), b"")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._reply(PREDICT.fullmatch(self.path), body)

    def _reply(self, match, body):
        server = self.model_server
        server.asked.append((self.command, self.path, dict(self.headers), body))
        fault = server.fault()
        if fault == "reset":
            self.close_connection = True
            self.connection.close()
            return
        if isinstance(fault, float):
            time.sleep(fault)
        try:
            if isinstance(fault, ServerError):
                raise fault
            if isinstance(fault, tuple):
                self._send(*fault)
                return
            self._send(200, {}, self._answer(match, body))
        except ServerError as error:
            told = json.dumps({"error": error.message}).encode()
            self._send(HTTP_STATUS.get(error.code, 500), {}, told)

    def _answer(self, match, body):
        if match is None:
            told = f"Malformed request: {self.command} {self.path}"
            raise ServerError(grpc.StatusCode.INVALID_ARGUMENT, told)
        request = predict_pb2.PredictRequest()
        spec, model = request.model_spec, self.model_server.model
        spec.name = unquote(match[1])
        if match[2]:
            spec.version.value = int(match[2])
        if match[3]:
            spec.version_label = unquote(match[3])
        if self.command == "POST":
            model.check(spec)
            is_row = inputs_from_json(body, model.signatures, request)
            return outputs_to_json(model.predict(request).outputs, is_row)
        if not match[4]:
            return MessageToJson(
                model.status(spec),
                preserving_proto_field_name=True,
                always_print_fields_with_no_presence=True,
            ).encode()
        found = get_model_metadata_pb2.SignatureDefMap()
        response = model.metadata(spec)
        response.metadata["signature_def"].Unpack(found)
        return json.dumps(
            {
                "model_spec": _as_dict(response.model_spec),
                "metadata": {"signature_def": _as_dict(found)},
            }
        ).encode()

    def _send(self, status, headers, body):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)


def _as_dict(message):
    return MessageToDict(
        message,
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,
    )


class _Servicer(
    prediction_service_pb2_grpc.PredictionServiceServicer,
    model_service_pb2_grpc.ModelServiceServicer,
):
    def __init__(self, server):
        self._server = server

    def Predict(self, request, context):
        return self._answer(self._server.model.predict, request, request, context)

    def GetModelMetadata(self, request, context):
        ask = self._server.model.metadata
        return self._answer(ask, request.model_spec, request, context)

    def GetModelStatus(self, request, context):
        ask = self._server.model.status
        return self._answer(ask, request.model_spec, request, context)

    def _answer(self, ask, argument, request, context):
        metadata = dict(context.invocation_metadata())
        self._server.asked.append(("gRPC", type(request).__name__, metadata, request))
        fault = self._server.fault()
        if isinstance(fault, float):
            time.sleep(fault)
        try:
            if isinstance(fault, ServerError):
                raise fault
            return ask(argument)
        except ServerError as error:
            context.abort(error.code, error.message)
