# SPDX-License-Identifier: MIT
"""Rows by Slang's bwd_diff through slangpy, on the Vulkan device that the loader finds first."""
import os

import rows
import slangpy as spy

# Invocations, and the uniforms that are sizes of arrays.
LAUNCH = {
    "matmul": lambda i: ([i["b"].shape[1], i["a"].shape[0], 1],
                         {"M": i["a"].shape[0], "N": i["b"].shape[1], "K": i["b"].shape[0]}),
    "softmax": lambda i: ([len(i["x"]), 1, 1], {"R": i["x"].shape[0], "C": i["x"].shape[1]}),
    "gmm": lambda i: ([len(i["x"]), 1, 1], {"N": len(i["x"]), "K": len(i["alpha"]), "D": i["x"].shape[1]}),
    "ode": lambda i: ([len(i["q"]), 1, 1], {"N": len(i["q"])}),
    "nbody": lambda i: ([len(i["p"]), 1, 1], {"N": len(i["p"])}),
    "hist": lambda i: ([len(i["idx"]), 1, 1], {"N": len(i["idx"])}),
    "hashgrid": lambda i: ([len(i["cells"]), len(i["x"]), 1],
                           {"N": len(i["x"]), "L": len(i["cells"]), "S": i["table"].shape[1]}),
    "mlp": lambda i: ([len(i["x"]), 1, 1], {"N": len(i["x"])}),
}
DEVICE = None


def where() -> str:
    return DEVICE.info.adapter_name


def prepare(name, row, inputs):
    global DEVICE  # pylint: disable=global-statement
    DEVICE = spy.create_device(type=spy.DeviceType.vulkan, include_paths=[rows.HERE])
    usage = spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access | spy.BufferUsage.copy_destination
    kernel = DEVICE.create_compute_kernel(DEVICE.load_program(os.path.join(rows.HERE, name + ".slang"), ["main"]))
    threads, given = LAUNCH[name](inputs)
    grads = {key: DEVICE.create_buffer(size=inputs[key].nbytes, usage=usage) for key in row.wrt}
    for key, value in inputs.items():
        given[key] = value.item() if value.ndim == 0 else DEVICE.create_buffer(data=value.ravel(), usage=usage)
    given.update({"grad_" + key: buffer for key, buffer in grads.items()})

    def run():
        encoder = DEVICE.create_command_encoder()
        for buffer in grads.values():
            encoder.clear_buffer(buffer)
        kernel.dispatch(threads, vars=given, command_encoder=encoder)
        DEVICE.submit_command_buffer(encoder.finish())
        DEVICE.wait_for_idle()
        return lambda: {key: buffer.to_numpy().view("f4").reshape(inputs[key].shape) for key, buffer in grads.items()}

    return run
