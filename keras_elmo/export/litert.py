"""A biLM as a LiteRT (TensorFlow Lite) file, of built-in operations only."""

import tensorflow as tf

from keras_elmo.export.tensorflow_graph import traced

FILE = "model.tflite"


def write(backbone, folder, shape, weights_dtype):
    """Writes the file; see `keras_elmo.export.export_graph`.

    LiteRT's own quantizer makes the weights: with int8 its kernels round what they
    multiply with them to int8 too, in each row as it comes.
    """
    function, _ = traced(backbone, shape)
    # The weights are constants of the graph: an object without any of its own.
    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [function.get_concrete_function()], tf.Module()
    )
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    if weights_dtype != "float32":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if weights_dtype == "float16":
        converter.target_spec.supported_types = [tf.float16]
    (folder / FILE).write_bytes(converter.convert())


def load(folder, threads=None):
    """A function from ids to outputs, run by `ai-edge-litert`."""
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError as error:
        raise ImportError(
            "LiteRT files are run by ai-edge-litert: pip install "
            f"'keras-elmo[litert]'. ({error})"
        ) from error
    interpreter = Interpreter(str(folder / FILE), num_threads=threads)
    signature = interpreter.get_signature_runner()
    outputs = {k: v["index"] for k, v in signature.get_output_details().items()}
    # It holds on to tensors, which could not change their sizes.
    del signature
    (index,) = (detail["index"] for detail in interpreter.get_input_details())

    def run(ids):
        interpreter.resize_tensor_input(index, ids.shape)
        interpreter.allocate_tensors()
        interpreter.set_tensor(index, ids)
        interpreter.invoke()
        return {name: interpreter.get_tensor(i) for name, i in outputs.items()}

    return run
