# SPDX-License-Identifier: MIT
import os

import pytest

import vyre

SRC = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.fixture(scope="session")
def device():
    try:
        return vyre.default_device()
    except vyre.Error as e:
        pytest.skip("no Vulkan device: %s" % e.text)


@pytest.fixture
def example():
    return lambda name: os.path.join(SRC, "examples", name)
