"""A biLM as OpenVINO's files, from the TensorFlow graph."""

FILE = "model.xml"


def write(backbone, folder, shape, weights_dtype):
    """Writes `model.xml` and `model.bin`; see `keras_elmo.export.export_graph`."""
    openvino = _openvino()
    from keras_elmo.export.tensorflow_graph import traced

    function, _ = traced(backbone, shape, weights_dtype)
    model = openvino.convert_model(function.get_concrete_function())
    # The weights are as small as they should be already.
    openvino.save_model(model, str(folder / FILE), compress_to_fp16=False)


def load(folder, threads=None):
    """A function from ids to outputs, run by OpenVINO on the CPU in float32."""
    openvino = _openvino()
    settings = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
    if threads is not None:
        settings["INFERENCE_NUM_THREADS"] = threads
    model = openvino.Core().compile_model(str(folder / FILE), "CPU", settings)

    def run(ids):
        outputs = model([ids])
        return {key.get_any_name(): value for key, value in outputs.items()}

    return run


def _openvino():
    try:
        import openvino
    except ImportError as error:
        raise ImportError(
            f"OpenVINO's files need OpenVINO: pip install 'keras-elmo[openvino]'. "
            f"({error})"
        ) from error
    return openvino
