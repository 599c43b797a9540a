"""Matrix products by oneDNN, where PyTorch has it and they are faster for it."""

import functools
from collections.abc import Callable

import torch
from torch.utils.weak import WeakIdKeyDictionary

# A weight is packed for a number of rows; it can be used with any other.
PACKED_FOR = 64
# oneDNN brings the kernel into its own layout first, which so many rows make up for.
FEWEST_ROWS = 4
# Weights that were packed, by the parameter: (its version, its address, packed).
_PACKED = WeakIdKeyDictionary()
# One row times a matrix of so many bytes, which the processor's cache may hold, takes
# `torch.mm` half the time that it takes oneDNN; a larger one half as long again.
FITS_CACHE = 2**22
# PyTorch's product with int8 weights reads so many at a time, past their end too.
INT8_BLOCK = 32


def matrix_product(x, kernel, bias=None):
    """`torch.matmul(x, kernel)`, plus a bias, by oneDNN where that can be.

    On processors that are not Intel's it is up to twice as fast as the library that
    `torch.matmul` asks. None of the tensors may need a gradient.

    Args:
        x: float, (..., inputs).
        kernel: float, (inputs, outputs).
        bias: float, (outputs,), or None.
    """
    if (
        x.numel() < max(1, FEWEST_ROWS * x.shape[-1])
        or x.device.type != "cpu"
        or kernel.device.type != "cpu"
        or x.dtype != torch.float32
        or kernel.dtype != torch.float32
        or (bias is not None and bias.dtype != torch.float32)
        or not torch.backends.mkldnn.is_available()
    ):
        result = torch.matmul(x, kernel)
        return result if bias is None else result + bias
    if _is_held_still(kernel) and x.numel() <= PACKED_FOR * x.shape[-1]:
        weight = _packed_once(kernel)
    elif kernel.is_contiguous() or kernel.t().is_contiguous():
        weight = kernel.t()
    else:
        # A part of a wider kernel: oneDNN would take a thousand times as long.
        weight = kernel.contiguous().t()
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


def _is_held_still(kernel):
    """Whether a kernel is a model's own, and nothing is being trained."""
    return isinstance(kernel, torch.nn.Parameter) and not torch.is_grad_enabled()


def _packed_once(kernel):
    """A parameter's transpose in oneDNN's layout, kept as long as the parameter is.

    Bringing it there takes longer than to multiply it with the rows of a sentence.
    """
    made_from = kernel._version, kernel.data_ptr()
    found = _PACKED.get(kernel)
    if found is None or found[0] != made_from:
        packed = torch.ops.mkldnn._reorder_linear_weight(
            kernel.detach().t().contiguous(), PACKED_FOR
        )
        found = _PACKED[kernel] = made_from, packed
    return found[1]


def packed_product(
    weight, bias=None, weights_dtype="float32"
) -> Callable[..., torch.Tensor]:
    """A function `x, added=None, out=None -> x @ weight (+ bias) (+ added)`, float32.

    The result is written to `out` and is `out`, where there is one.

    On a CPU the weight is packed for oneDNN, which reaches up to three times the rate
    of `torch.mm` on few rows, and takes 16-bit weights. Elsewhere it is `torch.mm`.

    Args:
        weight: float32 tensor, (inputs, outputs).
        bias: float32 tensor, (outputs,), or None.
        weights_dtype: "float32", "bfloat16", "float16", or "int8": a scale an output.
            `x` is rounded to 16 bits too where the CPU multiplies these.
    """
    weight = weight.detach().float()
    on_cpu = weight.device.type == "cpu"
    dtype = torch.float32
    if weights_dtype == "int8":
        multiply = _int8(weight) if on_cpu else None
        weight = _rounded_to_int8(weight)
    else:
        dtype = getattr(torch, weights_dtype)
        multiply = _packed(weight, bias, dtype) if on_cpu else None
        # Rounded as asked, and multiplied in float32.
        weight = weight.to(dtype).float()
    if multiply is None:
        multiply = functools.partial(_multiply, weight)
    elif dtype == torch.float32 and weights_dtype != "int8":
        return multiply

    def call(x, added=None, out=None):
        result = multiply(x)
        for term in (bias, added):
            if term is not None:
                result.add_(term)
        return _into(out, result)

    return call


def _packed(weight, bias, dtype):
    """The product by oneDNN; None where this CPU or this PyTorch has none."""
    if not torch.backends.mkldnn.is_available():
        return None
    check = {
        torch.bfloat16: "_is_mkldnn_bf16_supported",
        torch.float16: "_is_mkldnn_fp16_supported",
    }.get(dtype)
    if check is not None and not getattr(torch.ops.mkldnn, check)():
        return None
    linear = torch.ops.mkldnn._linear_pointwise
    packed = torch.ops.mkldnn._reorder_linear_weight(
        weight.t().contiguous().to(dtype), PACKED_FOR
    )
    if dtype != torch.float32:
        return lambda x: linear(x.to(dtype), packed, None, "none", [], "").float()

    def many_rows(x, added=None, out=None):
        if added is None:
            return _into(out, linear(x, packed, bias, "none", [], ""))
        return _into(out, linear.binary(x, added, packed, bias, "add"))

    if bias is not None or weight.nbytes > FITS_CACHE:
        return many_rows

    def call(x, added=None, out=None):
        if len(x) > 1:
            return many_rows(x, added, out)
        if added is None:
            return torch.mm(x, weight, out=out)
        return torch.addmm(added, x, weight, out=out)

    return call


def _into(out, result):
    return result if out is None else out.copy_(result)


def _multiply(weight, x):
    return torch.mm(x, weight)


def _int8_rows(weight):
    scale = weight.abs().amax(dim=0).clamp_min(1e-30) / 127.0
    return torch.round(weight / scale), scale


def _rounded_to_int8(weight):
    rounded, scale = _int8_rows(weight)
    return rounded * scale


def _int8(weight):
    """The product with int8 weights; None where this PyTorch has none."""
    rounded, scale = _int8_rows(weight)
    scale = scale.bfloat16()
    exact_scale = scale.float()
    # Whole numbers up to 127 are exact in 16 bits: the same weights for many rows,
    # which PyTorch's own product with int8 multiplies one by one.
    for dtype in (torch.bfloat16, torch.float32):
        whole = _packed(rounded, None, dtype)
        if whole is not None:
            break
    else:
        return None
    if any(size % INT8_BLOCK for size in weight.shape):
        return lambda x: whole(x).mul_(exact_scale)
    rows = rounded.t().contiguous().to(torch.int8)
    multiply = torch.ops.aten._weight_int8pack_mm

    def call(x):
        if len(x) > 1:
            return whole(x).mul_(exact_scale)
        return multiply(x.bfloat16(), rows, scale).float()

    return call
