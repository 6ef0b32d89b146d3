# SPDX-License-Identifier: MIT
"""Gradients of GPU compute programs: NumPy in, NumPy out.

    import numpy as np
    import vyre

    p = vyre.load("model.vyre")                     # a file of any kind, or the text itself
    g = p.grad(wrt=["w"], with_value=True)          # a program like another
    r = g(w=w, x=x, y=y)                            # runs on the best Vulkan device
    r.grad_w, r.loss

What goes wrong is a `vyre.Error`, with the place in the program and what to do about it.
"""
from ._core import Error
from .array import Array
from .device import Device, default_device
from .program import Program, Result, load
from .gradcheck import gradcheck
from .training import Fit, fit
from ._version import __version__

__all__ = ["Array", "Device", "Error", "Fit", "Program", "Result", "__version__", "default_device", "fit", "gradcheck",
           "load"]


def __getattr__(name):
    # torch is imported where it is asked for only: it takes seconds.
    if name == "torch":
        from . import torch as module
        return module
    raise AttributeError("module 'vyre' has no attribute %r" % name)
