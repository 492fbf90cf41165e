"""What runs a network: PyTorch, or OpenVINO on the CPU."""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.encode.one_pass import Backend, IntArray
from engine.numeric import FloatArray

if TYPE_CHECKING:
    import torch

GROUP = 64  # Values that share a scale in 8 bits: 128 take a tenth less time, and are less exact.


def openvino_module() -> Any:
    """OpenVINO with its telemetry off; import it with this function only.

    On import it reports its use over the network, unless its telemetry module is missing.
    """
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
    import openvino

    return openvino


def native_bfloat16() -> bool:
    """True when this CPU multiplies bfloat16 in hardware (AVX512-BF16 or AMX)."""
    import torch

    checks = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(bool(getattr(torch.cpu, name, lambda: False)()) for name in checks)


class TorchBackend:
    """PyTorch, in bfloat16 where the hardware has it (within cosine 0.9999 of float32)."""

    def __init__(
        self, model: torch.nn.Module, *, bfloat16: bool | None = None, device: str = "cpu"
    ) -> None:
        import torch

        if bfloat16 is None:
            bfloat16 = torch.cuda.is_bf16_supported() if device == "cuda" else native_bfloat16()
        precision = "bf16" if bfloat16 else "fp32"
        self.name = f"torch-{precision}" if device == "cpu" else f"torch-{device}-{precision}"
        self._device = device
        self._model = model.to(device, torch.bfloat16 if bfloat16 else torch.float32).eval()

    def forward(self, input_ids: IntArray, attention_mask: IntArray) -> FloatArray:
        import torch

        with torch.inference_mode():
            output = self._model(
                input_ids=torch.from_numpy(input_ids).to(self._device),
                attention_mask=torch.from_numpy(attention_mask).to(self._device),
            )
            hidden: FloatArray = output.last_hidden_state.float().cpu().numpy()
        return hidden


class OpenVinoBackend:
    """OpenVINO on the CPU, with a model of OpenVINO (``pip install seedlens[openvino]``).

    Args:
        threads: 0 for all cores.
        int8: linear layers in 8 bits, with one scale for :data:`GROUP` values; only faster where
            the CPU has 8-bit products.
    """

    def __init__(self, model: Any, *, threads: int = 0, int8: bool = False) -> None:
        core = openvino_module().Core()
        bfloat16 = "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        precision = "bf16" if bfloat16 else "f32"
        settings: dict[str, str | int] = {"INFERENCE_PRECISION_HINT": precision}
        if threads and threads < (os.cpu_count() or 1):
            settings["INFERENCE_NUM_THREADS"] = threads
        if int8:
            _narrow(model)
            settings["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = str(GROUP)
        self.name = f"openvino-{'int8-' if int8 else ''}{precision}"
        self._compiled = core.compile_model(model, "CPU", settings)
        # OpenVINO refuses a second thread; one pass uses all cores anyway.
        self._one_at_a_time = threading.Lock()

    def forward(self, input_ids: IntArray, attention_mask: IntArray) -> FloatArray:
        with self._one_at_a_time:
            return np.asarray(self._compiled([input_ids, attention_mask])[0], dtype=np.float32)


def _narrow(model: Any) -> None:
    """Store the weights of all linear layers of an OpenVINO model in 8 bits, changing it."""
    ops = openvino_module().opset13
    for node in model.get_ops():
        if node.get_type_name() != "MatMul":
            continue
        source = node.input_value(1).get_node()
        if source.get_type_name() == "Convert":
            source = source.input_value(0).get_node()
        if source.get_type_name() != "Constant" or not node.get_attributes()["transpose_b"]:
            continue  # attention multiplies what was computed
        weights = np.asarray(source.data, dtype=np.float32)
        groups = weights.reshape(len(weights), -1, GROUP)
        scale = np.maximum(np.abs(groups).max(axis=2, keepdims=True), 1e-9) / 127
        narrow = ops.convert(ops.constant(np.round(groups / scale).astype(np.int8)), "f32")
        shape = ops.constant(np.array(weights.shape, dtype=np.int64))
        wide = ops.reshape(ops.multiply(narrow, ops.constant(scale)), shape, False)
        node.input(1).replace_source_output(wide.output(0))


def openvino_model(network: Any) -> Any:
    """A network of PyTorch as a model of OpenVINO."""
    import torch

    class Hidden(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = network

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.model(
                input_ids=input_ids, attention_mask=attention_mask, return_dict=False
            )[0]

    network.set_attn_implementation("eager")  # a thirtieth faster than what sdpa becomes
    example = torch.ones(2, 8, dtype=torch.long)
    inputs = {"input_ids": example, "attention_mask": example}
    return openvino_module().convert_model(Hidden().eval(), example_input=inputs)


def choose_backend(
    model: torch.nn.Module, *, bulk: bool, threads: int = 0, large: bool = False
) -> Backend:
    """PyTorch; on the GPU for bulk work and ``large`` models (decoders), where there is one.

    For bulk work on encoders OpenVINO, where it is installed: 1.5 times as fast, after 2 s of
    conversion.
    """
    import torch

    torch.set_num_threads(threads or os.cpu_count() or 1)
    if (large or bulk) and torch.cuda.is_available():
        return TorchBackend(model, device="cuda")
    if bulk and not large and has_openvino():
        return OpenVinoBackend(openvino_model(model), threads=threads)
    return TorchBackend(model)


def has_openvino() -> bool:
    """Whether OpenVINO is installed."""
    return importlib.util.find_spec("openvino") is not None
