"""The product with a kernel against NumPy's, on paths with and without a gradient."""

import gc
import weakref

import keras
import numpy as np
import pytest

from keras_elmo import backend

rng = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(5, 7), (2, 3, 7), (0, 7), (1, 7)])
def test_it_is_the_matrix_product(shape):
    x = rng.normal(size=shape).astype("float32")
    kernel = rng.normal(size=(7, 4)).astype("float32")
    variable = keras.Variable(kernel)
    for weights in (keras.ops.convert_to_tensor(kernel), variable):
        actual = backend.product(keras.ops.convert_to_tensor(x), weights)
        np.testing.assert_allclose(
            keras.ops.convert_to_numpy(actual), x @ kernel, atol=2e-6
        )


@pytest.mark.parametrize("shape", [(5, 7), (2, 3, 7), (0, 7), (1, 7)])
def test_a_bias_is_added(shape):
    x = rng.normal(size=shape).astype("float32")
    kernel = rng.normal(size=(7, 4)).astype("float32")
    bias = rng.normal(size=4).astype("float32")
    # Of rows that lie side by side, as the words of a softmax do.
    rows = keras.ops.transpose(keras.ops.convert_to_tensor(kernel.T.copy()))
    for term in (keras.ops.convert_to_tensor(bias), keras.Variable(bias)):
        actual = backend.product(keras.ops.convert_to_tensor(x), rows, term)
        np.testing.assert_allclose(
            keras.ops.convert_to_numpy(actual), x @ kernel + bias, atol=2e-6
        )


def test_without_a_gradient_it_is_the_same():
    if keras.backend.backend() != "torch":
        pytest.skip("only PyTorch has another path without a gradient")
    import torch

    kernel = torch.tensor(rng.normal(size=(7, 4)), dtype=torch.float32)
    for x in (torch.ones(3, 7), torch.ones(2, 3, 7), torch.ones(0, 7)):
        with torch.no_grad():
            actual = backend.product(x, kernel)
            biased = backend.product(x, kernel, kernel[0])
        torch.testing.assert_close(actual, x @ kernel)
        torch.testing.assert_close(biased, x @ kernel + kernel[0])
    with torch.no_grad():
        x = torch.ones(3, 7, dtype=torch.bfloat16)
        assert backend.product(x, kernel.bfloat16()).dtype == torch.bfloat16


def test_a_part_of_a_wider_kernel_is_laid_out_anew(monkeypatch):
    """oneDNN's time for it as it stands was a thousand times as long."""
    if keras.backend.backend() != "torch":
        pytest.skip("only PyTorch asks oneDNN")
    import torch

    from keras_elmo.backend import torch_products

    if not torch.backends.mkldnn.is_available():
        pytest.skip("this PyTorch has no oneDNN")
    x, wide = torch.randn(8, 16), torch.randn(32, 64)
    given = []
    for kernel in (wide[:16, :24], wide.T[:16, :24], wide[:16], wide.T[:16]):
        contiguous = kernel.contiguous
        monkeypatch.setattr(
            kernel,
            "contiguous",
            lambda make=contiguous: given.append(make()) or given[-1],
            raising=False,
        )
        actual = torch_products.matrix_product(x, kernel)
        torch.testing.assert_close(actual, x @ kernel)
    # Whole rows of one were given as they are.
    assert [tuple(part.shape) for part in given] == [(16, 24), (16, 24), (16, 32)]


def test_the_gradient_of_a_product_with_a_bias():
    if keras.backend.backend() != "torch":
        pytest.skip("only PyTorch has a gradient of its own")
    import torch

    x, kernel = torch.randn(2, 5, 7), torch.randn(7, 4)
    for needs in ((0,), (1,), (2,), (0, 1, 2)):
        found = []
        for function in (backend.product, lambda x, k, b: torch.matmul(x, k) + b):
            tensors = [x.clone(), kernel.clone(), kernel[0].clone()]
            for i in needs:
                tensors[i].requires_grad_()
            function(*tensors).square().sum().backward()
            found.append([tensors[i].grad for i in needs])
        torch.testing.assert_close(*found)


def test_a_kernel_that_has_changed_is_packed_anew():
    if keras.backend.backend() != "torch":
        pytest.skip("only PyTorch packs kernels")
    import torch

    from keras_elmo.backend import torch_products

    if not torch.backends.mkldnn.is_available():
        pytest.skip("this PyTorch has no oneDNN")

    def numbers():
        return rng.normal(size=(16, 24)).astype("float32")

    def last_packed():
        x, variable = torch.randn(6, 16), keras.Variable(numbers())
        packed = None
        for change in (
            lambda _: None,
            lambda _: None,
            variable.assign,
            lambda _: variable.value.mul_(2.0),  # as an optimizer does
            lambda other: setattr(variable.value, "data", torch.tensor(other)),
        ):
            change(numbers())
            actual = backend.product(x, variable)
            torch.testing.assert_close(actual, x @ variable.value)
            packed = torch_products._PACKED[variable.value][1]
        return weakref.ref(packed)

    with torch.no_grad():
        packed = last_packed()
    # Gone with the model.
    gc.collect()
    assert packed() is None
