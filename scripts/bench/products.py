"""How fast this machine multiplies matrices: what other rates are a share of.

Imported by the Pythons of the older programs too, 3.7 among them.
"""

from __future__ import annotations

import time


def matrix_product_rate(
    backend: str | None = None, seconds: float = 1.5, size: int = 2048
) -> float:
    """GFLOP/s of float32 products, the best of some.

    Args:
        backend: the backend of Keras in use, whose own products are tried too, or None
            for NumPy's alone.
        seconds: for each kind of product.
        size: of the square matrices.
    """
    # Not before: whoever asks sets first what threads there are.
    import numpy as np

    a = np.random.rand(size, size).astype("float32")
    products: list = [lambda: a @ a]
    if backend:
        import keras

        b = keras.ops.convert_to_tensor(a)
        products.append(lambda: keras.ops.convert_to_numpy(keras.ops.matmul(b, b)))
    if backend == "torch":
        from keras_elmo.backend.torch_products import packed_product

        packed = packed_product(b)
        products.append(lambda: packed(b))
    best = float("inf")
    for multiply in products:
        multiply()
        started = time.perf_counter()
        while time.perf_counter() - started < seconds:
            begin = time.perf_counter()
            multiply()
            best = min(best, time.perf_counter() - begin)
    return 2 * size**3 / best / 1e9
