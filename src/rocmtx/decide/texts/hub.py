"""Error texts about finding a model: names, network, gates, files.

Knows these texts; must not look at the network or the disk.
"""

from __future__ import annotations

from typing import Final

from rocmtx.decide.explanation import TextRule

RULES: Final = (
    TextRule(
        "gated",
        r"you are trying to access a gated repo|GatedRepoError|access to model [^\n]* is restricted",
        "the owner of this model wants to be asked first",
        "accept the terms on the model's page, then: hf auth login",
    ),
    TextRule(
        "not-found",
        r"is not a local folder and is not a valid model identifier|RepositoryNotFoundError",
        "no folder and no model on the hub has this name, or it is private",
        "check the spelling; for a private model: hf auth login",
    ),
    TextRule(
        "revision",
        r"is not a valid git identifier|RevisionNotFoundError",
        "the model has no such revision",
        "leave out --revision",
    ),
    TextRule(
        "unreachable",
        r"we couldn't connect to '[^']*' to load the files|LocalEntryNotFoundError|"
        r"(?:httpx\w*|requests\.exceptions)\.Connect\w*Error|"
        r"Name or service not known|Temporary failure in name resolution",
        "there is no network, and the files are not in the cache",
        "use a local folder or the model demo; to fail at once instead of waiting: export HF_HUB_OFFLINE=1",
    ),
    TextRule(
        "bad-path",
        r"repo id must (?:be in the form|use)[^\n]*|HFValidationError",
        "this is neither the name of a model (org/name) nor an existing folder",
        "check the path: it must be a folder with a config.json",
    ),
    TextRule(
        "no-weights",
        r"error no file named [^\n]*model\.safetensors",
        "the folder has no weights in it",
        "download it again, or name the folder that holds model.safetensors",
    ),
    TextRule(
        "file-missing", r"does not appear to have a file named [\w.-]+", "the model is incomplete", "download it again"
    ),
    TextRule(
        "no-model-type",
        r"should have a `model_type` key in its config\.json",
        "the folder holds no model: its config.json is absent or names no model_type",
        "name the folder that holds config.json and model.safetensors",
    ),
    TextRule(
        "unknown-architecture",
        r"unrecognized model in|the checkpoint you are trying to load has model type",
        "this Transformers does not know the architecture of the model",
        "pip install -U transformers; if the model brings its own code: --trust-remote-code",
    ),
    TextRule(
        "remote-code",
        r"contains custom code which must be executed|requires you to execute the configuration file",
        "the model brings its own Python code, which runs on this machine",
        "if you trust it: --trust-remote-code",
    ),
    TextRule(
        "permission",
        r"PermissionError(?: at|: \[Errno 13\])[^\n]*",
        "a file of the model may not be read",
        "check its permissions: ls -l",
    ),
    TextRule(
        "damaged",
        r"SafetensorError: [^\n]*|Error while deserializing header|MetadataIncompleteBuffer",
        "a weights file is damaged or was not downloaded completely",
        "delete it and download it again",
    ),
)
