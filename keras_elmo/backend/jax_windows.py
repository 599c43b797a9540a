"""The largest product of a filter with any window of a token, on JAX."""

import functools

import jax
import jax.numpy as jnp

from keras_elmo.backend.windows import positions


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def max_over_windows(characters, kernel, filters):
    """See `keras_elmo.backend`."""
    return _forward(characters, kernel, filters)[0]


def _forward(characters, kernel, filters):
    tokens, width, dim = characters.shape
    flat = characters.reshape(tokens, width * dim)
    places = positions(width, dim, filters)
    first, last, rows, columns = places[0]
    best = flat[:, first:last] @ kernel[:rows, :columns]
    arg = jnp.zeros(best.shape, "uint8")
    for number, (first, last, rows, columns) in enumerate(places[1:], 1):
        new = flat[:, first:last] @ kernel[:rows, :columns]
        larger = new > best[:, :columns]
        new = jnp.where(larger, new, best[:, :columns])
        new_arg = jnp.where(larger, jnp.uint8(number), arg[:, :columns])
        if columns == best.shape[1]:
            best, arg = new, new_arg
        else:
            best = jnp.concatenate([new, best[:, columns:]], axis=1)
            arg = jnp.concatenate([new_arg, arg[:, columns:]], axis=1)
    return best, (characters, kernel, arg)


def _backward(filters, saved, d_best):
    characters, kernel, arg = saved
    tokens, width, dim = characters.shape
    flat = characters.reshape(tokens, width * dim)
    d_flat, d_kernel = jnp.zeros_like(flat), jnp.zeros_like(kernel)
    for number, (first, last, rows, columns) in enumerate(
        positions(width, dim, filters)
    ):
        d_new = jnp.where(arg[:, :columns] == number, d_best[:, :columns], 0.0)
        d_kernel = d_kernel.at[:rows, :columns].add(flat[:, first:last].T @ d_new)
        d_flat = d_flat.at[:, first:last].add(d_new @ kernel[:rows, :columns].T)
    return d_flat.reshape(characters.shape), d_kernel


max_over_windows.defvjp(
    lambda characters, kernel, filters: _forward(characters, kernel, filters), _backward
)
