"""A model's shape read from its config: how many parameters, and what each layer keeps in the cache.

Knows the fields of config.json as Transformers names them; must not know dtypes in bytes, devices or torch. Counting is
for decoders of the Llama kind (with experts, grouped heads, sliding windows, DeepSeek's latent attention); where a
field that it needs is absent the answer is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Fields that make a model another kind: what is counted here would be wrong.
_FOREIGN = ("ssm_cfg", "state_size", "d_state", "is_encoder_decoder", "n_embd", "d_model")
_KEEPS_NOTHING = frozenset({"linear_attention", "conv", "mamba", "moe", "mlp", "recurrent"})


@dataclass(frozen=True, slots=True)
class Shape:
    """A decoder's dimensions. `window` is that of the sliding layers, `latent` MLA's width in the cache or None.

    `projections` are the (inputs, outputs) of one layer's attention; empty where its fields are not all there.
    `normed_heads`: queries and keys are normalised as well.
    """

    layers: int
    hidden: int
    intermediate: int
    heads: int
    key_value_heads: int
    head_dim: int
    vocabulary: int
    tied: bool
    experts: int = 0
    expert_intermediate: int = 0
    shared_experts: int = 0
    dense_layers: int = 0
    layer_types: tuple[str, ...] = ()
    window: int | None = None
    latent: int | None = None
    projections: tuple[tuple[int, int], ...] = ()
    active_experts: int = 1
    normed_heads: bool = False

    @property
    def working_intermediate(self) -> int:
        """The width of the feed-forward part that one token goes through: with experts, of those that it is sent to."""
        active = (self.active_experts + self.shared_experts) * self.expert_intermediate
        return max(self.intermediate if self.dense_layers or not self.experts else 0, active)

    def embedding_parameters(self) -> int:
        """Return the parameters of the input and output embeddings, which quantization leaves alone."""
        return self.vocabulary * self.hidden * (1 if self.tied else 2)

    def attention_sizes(self) -> tuple[tuple[int, int, int], ...]:
        """Return (inputs, outputs, how many) of the attention's linear layers."""
        return tuple((inputs, outputs, self.layers) for inputs, outputs in self.projections)

    def linear_sizes(self) -> tuple[tuple[int, int, int], ...]:
        """Return (inputs, outputs, how many) of all linear layers but the embeddings."""
        sparse = self.layers - self.dense_layers if self.experts else 0
        sizes = [
            *self.attention_sizes(),
            (self.hidden, self.intermediate, 3 * (self.layers - sparse)),
            (self.hidden, self.expert_intermediate, 3 * sparse * (self.experts + self.shared_experts)),
            (self.hidden, self.experts, sparse),
        ]
        return tuple(size for size in sizes if size[2] and size[1])

    def parameters(self) -> int | None:
        """Return the parameters counted from the dimensions; None where those of the attention are not known."""
        if not self.projections:
            return None
        norms = self.hidden * (2 * self.layers + 1)
        return self.embedding_parameters() + sum(a * b * count for a, b, count in self.linear_sizes()) + norms

    def cached_numbers(self, tokens: int) -> int:
        """Return how many numbers one sequence keeps in the cache after so many tokens.

        A sliding layer keeps window - 1 tokens. Source: Transformers cache_utils.py, measured exactly for full and
        sliding layers and for DeepSeek's latent cache.
        """
        return sum(self._layer_numbers(at, tokens) for at in range(self.layers))

    def _layer_numbers(self, at: int, tokens: int) -> int:
        kind = self.layer_types[at] if at < len(self.layer_types) else self._usual_kind()
        if kind in _KEEPS_NOTHING:
            return 0
        if kind != "full_attention" and self.window is not None:
            tokens = min(tokens, max(self.window - 1, 1))
        if self.latent is not None:
            return self.latent * tokens
        return 2 * self.key_value_heads * self.head_dim * tokens

    def _usual_kind(self) -> str:
        return "sliding_attention" if self.window is not None and not self.layer_types else "full_attention"


def read_shape(config: dict[str, Any]) -> Shape | None:
    """Read the dimensions of a decoder; None when a field is absent or the model is of another kind."""
    text = config.get("text_config")
    config = {**config, **text} if isinstance(text, dict) else config
    layers, hidden = _number(config, "num_hidden_layers"), _number(config, "hidden_size")
    heads, vocabulary = _number(config, "num_attention_heads"), _number(config, "vocab_size")
    if not (layers and hidden and heads and vocabulary) or any(config.get(name) for name in _FOREIGN):
        return None
    experts = next((found for name in _EXPERTS if (found := _number(config, name))), 0)
    intermediate = _number(config, "intermediate_size") or 0
    key_value_heads = _number(config, "num_key_value_heads") or heads
    head_dim = _number(config, "head_dim") or hidden // heads
    latent = _number(config, "kv_lora_rank")
    types = config.get("layer_types")
    return Shape(
        layers=layers,
        hidden=hidden,
        intermediate=intermediate,
        heads=heads,
        key_value_heads=key_value_heads,
        head_dim=head_dim,
        vocabulary=vocabulary,
        tied=bool(config.get("tie_word_embeddings", _tied_by_default(config))),
        experts=experts,
        expert_intermediate=_number(config, "moe_intermediate_size") or (intermediate if experts else 0),
        shared_experts=_number(config, "n_shared_experts") or 0,
        dense_layers=_number(config, "first_k_dense_replace") or 0,
        layer_types=tuple(map(str, types)) if isinstance(types, list | tuple) else (),
        window=_window(config),
        active_experts=_number(config, "num_experts_per_tok") or 1,
        normed_heads=str(config.get("model_type")) in _NORMED,
        latent=latent + (_number(config, "qk_rope_head_dim") or 0) if latent else None,
        projections=_latent_projections(config, hidden, heads, latent)
        if latent
        else _projections(hidden, heads * head_dim, key_value_heads * head_dim),
    )


def _projections(hidden: int, query: int, keys: int) -> tuple[tuple[int, int], ...]:
    return ((hidden, query), (hidden, keys), (hidden, keys), (query, hidden))


def _latent_projections(config: dict[str, Any], hidden: int, heads: int, latent: int) -> tuple[tuple[int, int], ...]:
    """Return the projections of latent attention: Transformers' modeling_deepseek_v3.py, q_a to o_proj."""
    rope, plain, value = (_number(config, name) for name in ("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"))
    if not (rope and plain and value):
        return ()
    query, width = _number(config, "q_lora_rank"), heads * (plain + rope)
    return (
        *(((hidden, query), (query, width)) if query else ((hidden, width),)),
        (hidden, latent + rope),
        (latent, heads * (plain + value)),
        (heads * value, hidden),
    )


_EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts")
# Classes whose config leaves the field out when it is true.
_TIES = frozenset({"gemma", "gemma2", "gemma3", "gemma3_text", "gemma4", "gemma4_text"})


_NORMED = frozenset({"gemma3", "gemma3_text", "qwen3", "qwen3_moe"})


def _tied_by_default(config: dict[str, Any]) -> bool:
    return config.get("model_type") in _TIES


def _window(config: dict[str, Any]) -> int | None:
    if config.get("use_sliding_window") is False:
        return None
    return _number(config, "sliding_window") or _number(config, "attention_chunk_size")


def _number(config: dict[str, Any], name: str) -> int | None:
    value = config.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
