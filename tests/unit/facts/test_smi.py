"""A second opinion: every shape that the tools print, and what they print when there is nothing to say."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmtx.facts.rocminfo import gpu_agents, in_wsl
from rocmtx.facts.smi import SmiView, ask_smi
from rocmtx.facts.smi_json import SmiGpu, amd_smi_gpus, documents, number, rocm_smi_gpus, rows

if TYPE_CHECKING:
    from pathlib import Path

METRIC = """{"gpu":0,"usage":{"gfx_activity":{"value":42,"unit":"%"},"umc_activity":{"value":1,"unit":"%"},
"vcn_activity":[{"value":0,"unit":"%"},"N/A","N/A"]},"power":{"socket_power":{"value":133,"unit":"W"}},
"temperature":{"edge":"N/A","hotspot":{"value":41,"unit":"C"},"mem":{"value":34,"unit":"C"}},
"mem_usage":{"total_vram":{"value":196592,"unit":"MB"},"used_vram":{"value":284,"unit":"MB"}}}"""
EXPECTED = SmiGpu(
    0,
    vram_total=206141652992,
    vram_used=284 << 20,
    busy=0.42,
    memory_busy=0.01,
    power=133.0,
    hotspot_temperature_c=41.0,
    memory_temperature_c=34.0,
)


@pytest.mark.parametrize(
    "text",
    [
        f"[{METRIC}]",
        f'{{"gpu_data": [{METRIC}]}}',
        METRIC,
        f"[{METRIC}]\n[{METRIC}]\n",
        f'{{"gpu_data": [{METRIC}], "cpu_data": []}}{{"nic_data": [1]}}',
        f"WARNING: User is missing the [render] group {{really}}\n\n[{METRIC}]\ntrailing words",
    ],
)
def test_every_shape_gives_the_same_values(text: str) -> None:
    assert amd_smi_gpus(text) == (EXPECTED,)


def test_any_subtree_may_be_not_available() -> None:
    text = '[{"timestamp":1769014607,"gpu":0,"usage":"N/A","power":{"socket_power":"N/A"},"clock":{"gfx_0":"N/A"}}]'
    assert amd_smi_gpus(text) == (SmiGpu(0),)


def test_list_static_and_metric_are_joined_by_the_tools_index() -> None:
    listed = '[{"gpu":0,"bdf":"0000:0A:00.0","uuid":"x","kfd_id":24248,"node_id":2,"partition_id":0}]'
    static = """{"gpu_data":[{"gpu":0,"asic":{"market_name":"MI300X-O","device_id":"0x74a1",
    "asic_serial":"0xAF54E92B0A5D57C8","target_graphics_version":"gfx942"},
    "board":{"product_name":"AMD Instinct MI300X"},"limit":{"max_power":{"value":750,"unit":"W"}},
    "partition":{"accelerator_partition":{"profile_type":"SPX"},"memory_partition":"NPS1"},"vram":{"size":{"value":196592,"unit":"MB"}}}]}"""
    (gpu,) = amd_smi_gpus(listed, static)
    assert gpu == SmiGpu(
        0,
        address="0000:0a:00.0",
        gpu_id=24248,
        unique_id="af54e92b0a5d57c8",
        device_id=0x74A1,
        name="AMD Instinct MI300X",
        gfx="gfx942",
        vram_total=206141652992,
        power_cap=750.0,
        compute_partition="SPX",
        memory_partition="NPS1",
    )


@pytest.mark.parametrize(
    ("uuid", "unique_id"),
    [
        ("afff74a1-0000-1000-8054-e92b0a5d57c8", "af54e92b0a5d57c8"),
        ("96ff75a0-0000-1000-8068-95650c2e8ae1", f"{10838076764495710945:016x}"),
        ("d4ff75a0-0000-1000-80e5-658294b0b967", f"{15340779317222226279:016x}"),
        ("deff740f-0000-1000-8082-87300da37c72", "de8287300da37c72"),
        ("00ff74a0-0000-1000-8000-000000000000", None),  # an APU has none
        ("c2f1a3b0-5d5e-4b7e-9a44-0f2f6d3b1a11", None),
        ("N/A", None),
    ],
)
def test_the_uuid_of_amd_smi_holds_the_unique_id(uuid: str, unique_id: str | None) -> None:
    (gpu,) = amd_smi_gpus(json.dumps([{"gpu": 0, "uuid": uuid}]))
    assert gpu.unique_id == unique_id


def test_partitions_that_say_not_available_stay_listed() -> None:
    listed = [
        {"gpu": at, "partition": {"compute_partition": "CPX" if at == 0 else "N/A"}, "mem_usage": "N/A"}
        for at in range(8)
    ]
    gpus = amd_smi_gpus(json.dumps(listed))
    assert [gpu.compute_partition for gpu in gpus] == ["CPX", *[None] * 7]
    assert {gpu.vram_total for gpu in gpus} == {None}


def test_an_error_text_in_the_address_is_no_address() -> None:
    assert amd_smi_gpus('[{"gpu":0,"bdf":"Error opening /dev/dri","uuid":"N/A"}]') == (SmiGpu(0),)


@pytest.mark.parametrize(
    ("leaf", "unit", "value"),
    [
        ({"value": 42, "unit": "%"}, "", 0.42), ("42 %", "", 0.42), (42, "%", 0.42), ("0", "%", 0.0),
        ({"value": "N/A", "unit": "%"}, "", None), ("N/A", "%", None), ("N/A (Secondary die)", "W", None),
        ("", "%", None), (None, "%", None), (65535, "%", None), (True, "%", None),
        ([1], "%", None), ("12 parsecs", "", None),
        ({"value": 1, "unit": "GB"}, "", float(1 << 30)), ("31.5 °C", "", 31.5), ({"value": {"value": 3}}, "W", 3.0),
    ],
)  # fmt: skip
def test_leaves(leaf: Any, unit: str, value: float | None) -> None:
    assert number(leaf, unit) == value


def test_rocm_smi_of_several_versions() -> None:
    text = """
{"card1": {"Device Name": "Navi 22", "Device ID": "0x73df", "GUID": "55069", "Unique ID": "N/A", "GPU use (%)": "7",
  "PCI Bus": "0000:07:00.0", "VRAM Total Memory (B)": "12868124672", "VRAM Total Used Memory (B)": "1572745216",
  "Average Graphics Package Power (W)": "N/A (Secondary die)", "Current Socket Graphics Package Power (W)": "131.0",
  "Card Series": "Navi 22", "GFX Version": "gfx1031", "Temperature (Sensor edge) (C)": "45.0"},
 "card0": {"GPU ID": "0x738c", "Card series": "0x1002", "Unique ID": "0x4edfb117a17a07d"},
 "system": {"Driver version": "6.3.6"}}"""
    assert rocm_smi_gpus(text) == (
        SmiGpu(0, unique_id="04edfb117a17a07d", device_id=0x738C),
        SmiGpu(
            1,
            address="0000:07:00.0",
            gpu_id=55069,
            device_id=0x73DF,
            name="Navi 22",
            gfx="gfx1031",
            vram_total=12868124672,
            vram_used=1572745216,
            busy=0.07,
            power=131.0,
            temperature_c=45.0,
        ),
    )
    assert rocm_smi_gpus("WARNING: No JSON data to report\n") == ()


RECORDED = {
    "mi100_rocm571": (6, 0x738C, "0000:1e:00.0", 34342961152, 6782976, None),
    "mi100_rocm602": (4, 0x738C, "0000:83:00.0", 34342961152, 6750208, "79ccd55167a2124a"),
    "rx6700xt_rocm430": (1, 0x73DF, "0000:07:00.0", 12868124672, 1622728704, None),
    "rx6700xt_rocm571": (1, 0x73DF, "0000:07:00.0", 12868124672, 1564491776, None),
    "rx6700xt_rocm602": (1, 0x73DF, "0000:07:00.0", 12868124672, 1572757504, None),
    "rx6700xt_rocm612": (1, 0x73DF, "0000:07:00.0", 12868124672, 1572745216, None),
    "vega-10-XT": (1, 0x6861, "0000:04:00.0", 17163091968, 17776640, "02150e7d042a1124"),
    "vega-20-WKS-GL-XE": (1, 0x66A1, "0000:63:00.0", 34342961152, 10850304, "02f048617326b1ea"),
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_rocm_smi(name: str, recorded: Path) -> None:
    folder = recorded / "influxdata+telegraf/plugins/inputs/amd_rocm_smi/testdata"
    gpus = rocm_smi_gpus((folder / f"{name}.json").read_text())
    first = gpus[0]
    assert (
        len(gpus),
        first.device_id,
        first.address,
        first.vram_total,
        first.vram_used,
        first.unique_id,
    ) == RECORDED[name]
    if name == "rx6700xt_rocm602":
        assert first.power is None  # "N/A (Secondary die)" on a card with one die
    if name == "rx6700xt_rocm612":
        assert (first.gfx, first.gpu_id) == ("gfx1031", 55069)
    if name == "rx6700xt_rocm430":
        assert first.name is None
    if name == "vega-10-XT":
        assert first.memory_temperature_c == 92.0
    if name == "mi100_rocm602":
        assert [gpu.unique_id for gpu in gpus][1] == "04edfb117a17a07d"


def test_recorded_amd_smi(recorded: Path) -> None:
    folder = recorded / "ROCm+amdsmi/extracted_from_CHANGELOG"
    (metric,) = amd_smi_gpus((folder / "rocm6.1_metric_p_json.txt").read_text())
    assert metric.power == 10.0
    (processes,) = rows((folder / "rocm6.2_process_json.txt").read_text())
    assert [entry["process_info"]["name"] for entry in processes["process_list"]] == ["TransferBench", "rvs"]
    assert len(rows((folder / "rocm6.3_topology_json.txt").read_text())) == 2


def test_recorded_rocminfo(recorded: Path) -> None:
    agents = gpu_agents((recorded / "thamada+nvidia-smi/extracted/MI300X_x4_rocminfo.txt").read_text())
    assert [(agent.node, agent.slot, agent.uuid) for agent in agents] == [
        (2, "26:00.0", "GPU-8d1457e2c20f59d2"),
        (3, "46:00.0", "GPU-b4fa34630e85d42a"),
        (4, "65:00.0", "GPU-e8986800e182538a"),
        (5, "85:00.0", "GPU-eff71edc82169115"),
    ]
    assert {(agent.gfx, agent.device_id, agent.compute_units, agent.memory) for agent in agents} == {
        ("gfx942", 0x74A1, 304, 206141652992)
    }
    assert agents[0].isa == "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"


WRITTEN_ROCMINFO = """WSL environment detected.
Agent 1
*******
  Name:                    AMD Ryzen 9
  Device Type:             CPU
Agent 2
*******
  Name:                    gfx1103
  Uuid:                    GPU-XX
  Marketing Name:          AMD Radeon 780M
  Node:                    1
  Device Type:             GPU
  Memory Properties:       APU
  Compute Unit:            12
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: COARSE GRAINED
      Size:                    4194304(0x400000) KB
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx1103
    ISA 2
      Name:                    amdgcn-amd-amdhsa--gfx11-generic
"""


def test_written_rocminfo() -> None:
    (agent,) = gpu_agents(WRITTEN_ROCMINFO)
    assert (agent.gfx, agent.uuid, agent.name, agent.node) == ("gfx1103", None, "AMD Radeon 780M", 1)
    assert (agent.apu, agent.slot, agent.memory, agent.compute_units) == (True, None, 4 << 30, 12)
    assert agent.isa == "amdgcn-amd-amdhsa--gfx1103"  # the generic one behind it is no architecture
    assert in_wsl(WRITTEN_ROCMINFO)
    assert gpu_agents("") == ()


def tool(folder: Path, name: str, script: str) -> dict[str, str]:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def test_amd_smi_is_asked_first(tmp_path: Path) -> None:
    tool(tmp_path, "rocm-smi", "exit 1")
    environment = tool(tmp_path, "amd-smi", f"test $1 = metric && cat <<'END'\n[{METRIC}]\nEND\nexit 0")
    assert ask_smi(environment) == SmiView("amd-smi", (EXPECTED,))


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("echo 'ERROR: Driver not loaded (amdgpu not found)' >&2; exit 255", "Driver not loaded (amdgpu not found)"),
        ("exit 2", "amd-smi ended with code 2"),
        ("echo []", "amd-smi listed no GPU"),
    ],
)  # fmt: skip
def test_a_tool_without_a_driver(script: str, error: str, tmp_path: Path) -> None:
    view = ask_smi(tool(tmp_path, "amd-smi", script))
    assert view.tool == "amd-smi"
    assert view.error is not None
    assert view.error.endswith(error)


def test_rocm_smi_that_ends_with_zero_and_says_nothing(tmp_path: Path) -> None:
    environment = tool(tmp_path, "rocm-smi", "echo 'ERROR: amdgpu not found' >&2; exit 0")
    assert ask_smi(environment | {"PATH": str(tmp_path)}) == SmiView("rocm-smi", error="rocm-smi listed no GPU")


def test_a_tool_that_hangs(tmp_path: Path) -> None:
    view = ask_smi(tool(tmp_path, "amd-smi", "exec sleep 60"), time_limit=0.2)
    assert (view.gpus, view.error) == ((), f"{tmp_path}/amd-smi did not answer within 0.2 s")


def test_no_tool_at_all(tmp_path: Path) -> None:
    assert ask_smi({"PATH": str(tmp_path)}) == SmiView(error="neither amd-smi nor rocm-smi is installed")


@given(st.text())
def test_any_text_gives_rows_and_no_error(text: str) -> None:
    assert isinstance(documents(text), list)
    assert isinstance(amd_smi_gpus(text), tuple)
    assert isinstance(rocm_smi_gpus(text), tuple)
    assert gpu_agents(text) == ()


LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
KEYS = st.sampled_from(
    ["gpu", "gpu_data", "usage", "gfx_activity", "value", "unit", "asic", "bdf", "kfd_id", "partition", "card0"]
)


@given(st.recursive(LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4)))
def test_any_json_gives_rows_and_no_error(value: Any) -> None:
    text = json.dumps(value)
    assert all(isinstance(gpu, SmiGpu) for gpu in (*amd_smi_gpus(text), *rocm_smi_gpus(text)))


def test_a_wall_of_brackets_is_given_up() -> None:
    assert documents("[" * 100_000) == []
